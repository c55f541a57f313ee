/* The pages' files. */
#include <string.h>

#include "master/http/api.h"
#include "web/assets.h"

/* Whether the ETag is among those of If-None-Match. */
static bool is_known(const char *header, const char *etag)
{
    size_t n = strlen(etag);
    const char *at = header;

    if (!header)
        return false;
    if (strcmp(header, "*") == 0)
        return true;
    while ((at = strstr(at, etag))) {
        if (at[n] == '\0' || strchr(", \t", at[n]))
            return true;
        at += n;
    }
    return false;
}

void pages_answer(struct site *site, struct call *call)
{
    struct request *request = call->request;
    const struct web_asset *asset = web_asset_find(call->url.path);

    (void)site;
    if (!asset) {
        answer_error(request, 404, "notfound", "there is nothing at %.200s", call->url.path);
        return;
    }
    request_set_header(request, "ETag", asset->etag);
    request_set_header(request, "Cache-Control", "no-cache");
    request_set_header(request, "Content-Security-Policy", web_content_security_policy);
    request_set_header(request, "X-Content-Type-Options", "nosniff");
    request_set_header(request, "Referrer-Policy", "same-origin");
    if (is_known(request_header(request, "If-None-Match"), asset->etag)) {
        request_answer_constant(request, 304, "", 0);
        return;
    }
    request_set_header(request, "Content-Type", asset->type);
    request_answer_constant(request, 200, asset->bytes, asset->n);
}
