/*
 * verbs: the table of everything that `tailrace` can be told to do, in the order in which help
 * lists it.
 */
#ifndef TAILRACE_CLIENT_VERBS_H
#define TAILRACE_CLIENT_VERBS_H

#include <stddef.h>

#include "client/args.h"

extern const struct verb verbs[];
extern const size_t verbs_n;

/* NULL when there is none of this name. */
const struct verb *verb_find(const char *name);
/* The name nearest to a misspelt one, or NULL. */
const char *verb_near(const char *name);

#endif
