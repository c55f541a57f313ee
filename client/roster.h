/*
 * roster: the builders that the master knows, for those who misspelt one.
 */
#ifndef TAILRACE_CLIENT_ROSTER_H
#define TAILRACE_CLIENT_ROSTER_H

#include "client/api.h"

/*
 * ERR_OK when the master has a builder of this name. ERR_NOTFOUND: it has none; the sentence says
 * so, with the nearest name when one is near. Others as api_get.
 */
enum err_code roster_find(struct api *api, const char *name, struct err *err) TAILRACE_MUST_CHECK;

/* Sets that sentence about a name that is not in GET /builders's list; returns ERR_NOTFOUND. Pure.
 */
enum err_code roster_missing(const struct json *builders, const char *name, struct err *err);

#endif
