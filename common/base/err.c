#include "common/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
    [ERR_OK] = "ok",
    [ERR_IO] = "io",
    [ERR_AGAIN] = "again",
    [ERR_LIMIT] = "limit",
    [ERR_TIMEOUT] = "timeout",
    [ERR_CANCELED] = "cancelled",
    [ERR_NOTFOUND] = "notfound",
    [ERR_EXISTS] = "exists",
    [ERR_CONFIG] = "config",
    [ERR_PROTO] = "protocol",
    [ERR_AUTH] = "auth",
    [ERR_NOSPACE] = "nospace",
};

enum err_code(err_set)(struct err *err, enum err_code code, const char *fmt, ...)
{
    va_list args;

    if (!err)
        return code;
    err->code = code;
    err->sys = 0;
    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    return code;
}

enum err_code(err_set_sys)(struct err *err, int errno_value, const char *fmt, ...)
{
    enum err_code code = errno_value == ENOSPC || errno_value == EDQUOT ? ERR_NOSPACE : ERR_IO;
    char reason[128];
    va_list args;
    size_t used;

    if (!err)
        return code;
    err->code = code;
    err->sys = errno_value;
    va_start(args, fmt);
    (void)vsnprintf(err->msg, sizeof err->msg, fmt, args);
    va_end(args);
    used = strlen(err->msg);
    (void)snprintf(err->msg + used, sizeof err->msg - used, ": %s",
                   strerror_r(errno_value, reason, sizeof reason));
    return code;
}

void err_prefix(struct err *err, const char *fmt, ...)
{
    char head[ERR_MSG_MAX];
    char tail[ERR_MSG_MAX];
    va_list args;

    if (!err)
        return;
    va_start(args, fmt);
    (void)vsnprintf(head, sizeof head, fmt, args);
    va_end(args);
    memcpy(tail, err->msg, sizeof tail);
    /* Cutting the end is the documented answer to a sentence that grew too long. */
    if (snprintf(err->msg, sizeof err->msg, "%s: %s", head, tail) < 0)
        err->msg[0] = '\0';
}

void err_clear(struct err *err)
{
    err->code = ERR_OK;
    err->sys = 0;
    err->msg[0] = '\0';
}

const char *err_code_name(enum err_code code)
{
    return names[code];
}
