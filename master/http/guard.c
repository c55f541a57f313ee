#include "master/http/guard.h"

#include <string.h>
#include <strings.h>

#include "common/base/crypt.h"
#include "common/io/listener.h"

/* "host:port" of "http://host:port/...", as a part of url; empty when it is no such thing. */
static struct view authority_of(const char *url)
{
    const char *at = url ? strstr(url, "://") : NULL;

    if (!at)
        return VIEW_NULL;
    at += 3;
    return view_bytes(at, strcspn(at, "/?#"));
}

static bool same(struct view a, const char *b)
{
    return b && a.n > 0 && a.n == strlen(b) && strncasecmp(a.p, b, a.n) == 0;
}

/* The host of "host:port" or "[v6]:port", without brackets. */
static struct view host_of(struct view authority)
{
    const char *colon;

    if (authority.n > 0 && authority.p[0] == '[') {
        const char *end = memchr(authority.p, ']', authority.n);

        return end ? view_bytes(authority.p + 1, (size_t)(end - authority.p - 1)) : VIEW_NULL;
    }
    colon = authority.n ? memchr(authority.p, ':', authority.n) : NULL;
    return view_bytes(authority.p, colon ? (size_t)(colon - authority.p) : authority.n);
}

static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    size_t n = sizeof json - 1;

    return type && strncasecmp(type, json, n) == 0 && (type[n] == '\0' || strchr("; \t", type[n]));
}

static bool is_cross(const struct guard_request *request, const struct guard_site *site)
{
    struct view origin = authority_of(request->origin);
    struct view ours = authority_of(site->url);
    bool to_us;

    if (request->origin) {
        to_us = same(origin, request->host) ||
                (ours.n > 0 && origin.n == ours.n && strncasecmp(origin.p, ours.p, ours.n) == 0);
        return !to_us;
    }
    return request->fetch_site && strcmp(request->fetch_site, "same-origin") != 0 &&
           strcmp(request->fetch_site, "none") != 0;
}

/* Without tokens it is the loopback address that keeps strangers out, and a browser reaches it
 * under any name that its owner points here. */
static bool is_known_host(const struct guard_request *request, const struct guard_site *site)
{
    struct view host = host_of(view_of(request->host));
    struct view ours = host_of(authority_of(site->url));
    char name[256];

    if (host.n == 0 || host.n >= sizeof name)
        return false;
    memcpy(name, host.p, host.n);
    name[host.n] = '\0';
    return address_is_loopback(name) || same(ours, name);
}

/* Every token is compared, however early one fits. */
static bool has_token(const char *authorization, const text_list *tokens)
{
    uint8_t given[CRYPT_SHA256_BYTES], known[CRYPT_SHA256_BYTES];
    const char *token;
    bool found = false;

    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return false;
    token = authorization + 7;
    token += strspn(token, " ");
    crypt_sha256(view_of(token), given);
    for (size_t i = 0; i < tokens->n; i++) {
        crypt_sha256(view_of(tokens->v[i]), known);
        found |= crypt_equal(given, known, sizeof known);
    }
    return found;
}

static enum guard_verdict verdict(enum guard_verdict verdict, const char *sentence,
                                  const char **why)
{
    if (why)
        *why = sentence;
    return verdict;
}

enum guard_verdict guard_judge(const struct guard_request *request, const struct guard_site *site,
                               const char **why)
{
    if (is_cross(request, site))
        return verdict(GUARD_CROSS, "the request comes from another site's page", why);
    if (site->tokens->n == 0 && site->loopback && !is_known_host(request, site))
        return verdict(GUARD_HOST,
                       "the Host header is neither this machine's nor the configured url's", why);
    if (request->content_type ? !is_json(request->content_type) : request->body_bytes > 0)
        return verdict(GUARD_TYPE, "the body must be application/json", why);
    if (site->tokens->n > 0 && !has_token(request->authorization, site->tokens))
        return verdict(GUARD_TOKEN,
                       request->authorization ? "this token may not act here"
                                              : "acting here needs a token",
                       why);
    return GUARD_PASS;
}
