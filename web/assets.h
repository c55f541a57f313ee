/*
 * The pages' files, embedded into the program at build time.
 *
 * Everything a browser needs is in the binary: index.html, the style sheet, the icon, and the ES
 * modules in src/. All of it is constant and may be read by any thread.
 *
 * A server answers GET of anything outside /api, /hooks and its other own names with
 * web_asset_find(), NULL being a 404. Send with each asset:
 *     Content-Type: asset->type
 *     ETag: asset->etag             (quoted already; a request's If-None-Match may be compared to
 * it) Cache-Control: no-cache       (the modules name each other without a version)
 *     Content-Security-Policy: web_content_security_policy
 *     X-Content-Type-Options: nosniff
 */
#ifndef TAILRACE_WEB_ASSETS_H
#define TAILRACE_WEB_ASSETS_H

#include <stddef.h>

struct web_asset {
    const char *path;           /* as in the URL, "/src/main.js" */
    const char *type;           /* Content-Type, with the charset */
    const unsigned char *bytes; /* not NUL-terminated */
    size_t n;
    const char *etag; /* strong, in its quotes */
};

/* What a page may load and do: only files of this server, no inline script or style. */
extern const char web_content_security_policy[];

/*
 * The asset for a URL's path (without query or fragment, percent-encoding left as it is), or NULL
 * when there is none. Pages have addresses that the script in index.html reads, such as
 * /builds/12/steps/3, so a path whose first part has no dot and is not "src" gives index.html.
 * Only the first part counts because the later ones may be names with dots in them:
 * /builders/release-1.2 is a page, /favicon.ico and /src/gone.js are not.
 */
const struct web_asset *web_asset_find(const char *path);

#endif
