#include "client/roster.h"

#include <string.h>

#include "client/uri.h"
#include "common/base/text.h"
#include "common/base/vec.h"

enum { ROSTER_SHOWN_MAX = 100 };

/* Whatever the names are, they end up on a terminal. */
static void quote(struct str *out, const char *name)
{
    str_putc(out, '\'');
    text_escape(out, view_of(name), ROSTER_SHOWN_MAX);
    str_putc(out, '\'');
}

static enum err_code missing(const char *name, const char *near, struct err *err)
{
    struct str text = STR_INIT(16 * ROSTER_SHOWN_MAX);

    str_put(&text, "there is no builder ");
    quote(&text, name);
    if (near) {
        str_put(&text, "; did you mean ");
        quote(&text, near);
        str_putc(&text, '?');
    }
    (void)err_set(err, ERR_NOTFOUND, "%s", str_cstr(&text));
    str_release(&text);
    return ERR_NOTFOUND;
}

enum err_code roster_missing(const struct json *builders, const char *name, struct err *err)
{
    VEC(const char *) names = {0};

    for (size_t i = 0; i < json_len(builders); i++) {
        const char *known = json_get_text(json_at(builders, i), "name");

        if (known)
            vec_push(&names, known);
    }
    (void)missing(name, text_nearest(view_of(name), names.v, names.n), err);
    vec_release(&names);
    return ERR_NOTFOUND;
}

enum err_code roster_find(struct api *api, const char *name, struct err *err)
{
    struct api_reply reply = API_REPLY_INIT;
    struct str path = STR_INIT(URI_MAX);
    enum err_code rc;

    str_put(&path, "/builders");
    uri_segment(&path, name);
    rc = api_get(api, str_cstr(&path), &reply, err);
    if (rc == ERR_NOTFOUND) {
        rc = api_get(api, "/builders?limit=1000", &reply, err); /* enough to guess from */
        if (rc == ERR_OK)
            rc = roster_missing(json_get(reply.doc, "builders"), name, err);
    }
    str_release(&path);
    api_reply_release(&reply);
    return rc;
}
