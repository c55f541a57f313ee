#include "common/io/sig.h"

#include <string.h>

static void sig_on_signal(uv_signal_t *handle, int signal)
{
    struct sig *sig = handle->data;

    sig->fn(sig->owner, signal);
}

enum err_code sig_open(struct sig *sig, struct loop *loop, int signal,
                       void (*fn)(void *owner, int signal), void *owner, struct err *err)
{
    int rc;

    rc = uv_signal_init(&loop->uv, &sig->uv);
    if (rc)
        return err_set_sys(err, -rc, "watch %s", strsignal(signal));
    sig->fn = fn;
    sig->owner = owner;
    sig->uv.data = sig;
    rc = uv_signal_start(&sig->uv, sig_on_signal, signal);
    if (rc) {
        uv_close((uv_handle_t *)&sig->uv, NULL);
        return err_set_sys(err, -rc, "watch %s", strsignal(signal));
    }
    uv_unref((uv_handle_t *)&sig->uv);
    return ERR_OK;
}

void sig_close(struct sig *sig)
{
    uv_close((uv_handle_t *)&sig->uv, NULL);
}
