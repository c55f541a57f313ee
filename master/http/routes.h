/*
 * routes: which handler answers which address.
 */
#ifndef TAILRACE_MASTER_HTTP_ROUTES_H
#define TAILRACE_MASTER_HTTP_ROUTES_H

#include "master/http/site.h"

typedef void (*route_handler)(struct site *site, struct call *call);

struct route {
    const char *pattern;     /* a star stands for any one segment */
    const char *params;      /* words: the parameters it knows */
    route_handler get, post; /* NULL: that method is not for it */
};

/* NULL when no pattern fits. wild[] gets what stands for each '*', in order. */
const struct route *route_find(const struct url *url, const char *wild[2]);

/* Answers every request. */
void routes_answer(struct site *site, struct request *request);

#endif
