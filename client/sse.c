#include "client/sse.h"

#include <string.h>

void sse_init(struct sse *sse)
{
    *sse = (struct sse){.line = STR_INIT(SSE_EVENT_MAX),
                        .name = STR_INIT(SSE_EVENT_MAX),
                        .data = STR_INIT(SSE_EVENT_MAX)};
}

void sse_release(struct sse *sse)
{
    str_release(&sse->line);
    str_release(&sse->name);
    str_release(&sse->data);
}

static void dispatch(struct sse *sse, sse_on_event on_event, void *arg)
{
    if (sse->has_data)
        on_event(arg, sse->name.n ? str_cstr(&sse->name) : "message", str_view(&sse->data));
    str_clear(&sse->name);
    str_clear(&sse->data);
    sse->has_data = false;
}

static enum err_code field(struct sse *sse, struct view name, struct view value, struct err *err)
{
    enum err_code rc = ERR_OK;

    if (view_is(name, "event")) {
        str_clear(&sse->name);
        return str_append(&sse->name, value.p, value.n, err);
    }
    if (!view_is(name, "data"))
        return ERR_OK;
    if (sse->has_data)
        rc = str_append(&sse->data, "\n", 1, err);
    if (rc == ERR_OK)
        rc = str_append(&sse->data, value.p, value.n, err);
    sse->has_data = true;
    return rc;
}

static enum err_code line_end(struct sse *sse, sse_on_event on_event, void *arg, struct err *err)
{
    struct view line = str_view(&sse->line);
    struct view name = line;
    struct view value = VIEW_NULL;
    const char *colon;
    enum err_code rc;

    if (!sse->begun && view_starts(line, "\xef\xbb\xbf")) {
        line.p += 3;
        line.n -= 3;
        name = line;
    }
    sse->begun = true;
    if (line.n == 0) {
        dispatch(sse, on_event, arg);
        str_clear(&sse->line);
        return ERR_OK;
    }
    colon = memchr(line.p, ':', line.n);
    if (colon) {
        name.n = (size_t)(colon - line.p);
        value = view_bytes(colon + 1, line.n - name.n - 1);
        if (value.n && *value.p == ' ') {
            value.p++;
            value.n--;
        }
    }
    rc = field(sse, name, value, err); /* a comment is a field without a name */
    str_clear(&sse->line);
    return rc;
}

enum err_code sse_feed(struct sse *sse, struct view bytes, sse_on_event on_event, void *arg,
                       struct err *err)
{
    const char *p = bytes.p;
    const char *end = bytes.p + bytes.n;
    enum err_code rc = ERR_OK;

    while (p < end && rc == ERR_OK) {
        size_t n = 0;

        if (sse->after_cr && *p == '\n')
            p++;
        sse->after_cr = false;
        while (p + n < end && p[n] != '\n' && p[n] != '\r')
            n++;
        rc = str_append(&sse->line, p, n, err);
        p += n;
        if (rc || p == end)
            break;
        sse->after_cr = *p == '\r';
        p++;
        rc = line_end(sse, on_event, arg, err);
    }
    if (rc)
        err_prefix(err, "event stream");
    return rc;
}
