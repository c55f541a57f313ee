/*
 * guard: who may act. Decides from a request's headers alone, so that a page of somebody else in
 * the same browser, a name that was made to point here, and a stranger without the token get
 * nowhere. Pure.
 */
#ifndef TAILRACE_MASTER_HTTP_GUARD_H
#define TAILRACE_MASTER_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/text.h"

struct guard_request {
    const char *host, *origin, *fetch_site, *content_type, *authorization; /* NULL: not sent */
    size_t body_bytes;
};

struct guard_site {
    const text_list *tokens;
    const char *url; /* the configured one, or NULL */
    bool loopback;   /* the pages listen on this machine only */
};

enum guard_verdict {
    GUARD_PASS,
    GUARD_TYPE,  /* 415: not JSON */
    GUARD_CROSS, /* 403: from another site */
    GUARD_HOST,  /* 403: under a name that is not ours */
    GUARD_TOKEN, /* 401 */
};

/* Whether this POST may act. *why, when not NULL, gets a constant sentence unless it passes. */
enum guard_verdict guard_judge(const struct guard_request *request, const struct guard_site *site,
                               const char **why);

#endif
