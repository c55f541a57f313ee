/*
 * params: typed reading of a query's parameters; the sentence of an error names the parameter and
 * what was expected. Pure.
 */
#ifndef TAILRACE_MASTER_HTTP_PARAMS_H
#define TAILRACE_MASTER_HTTP_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "master/http/url.h"
#include "master/model.h"

enum { PARAMS_LIMIT = 50, PARAMS_LIMIT_MAX = 1000 };

/* *out stays as it is when the parameter is not there. All give ERR_CONFIG. */
enum err_code params_u64(const struct url *url, const char *name, uint64_t least, uint64_t most,
                         uint64_t *out, struct err *err) TAILRACE_MUST_CHECK;
/* `limit`, as above; *out holds what it is otherwise. */
enum err_code params_limit(const struct url *url, unsigned *out,
                           struct err *err) TAILRACE_MUST_CHECK;
/* "1" or "true", "0" or "false". */
enum err_code params_bool(const struct url *url, const char *name, bool *out,
                          struct err *err) TAILRACE_MUST_CHECK;
enum err_code params_state(const struct url *url, enum build_state *out,
                           struct err *err) TAILRACE_MUST_CHECK;
enum err_code params_result(const struct url *url, enum build_result *out,
                            struct err *err) TAILRACE_MUST_CHECK;
/* Whether all parameters are among the words of `known` ("limit before pool"). */
enum err_code params_check(const struct url *url, const char *known,
                           struct err *err) TAILRACE_MUST_CHECK;
/* The number that is a part of a path; *out is 0 when the text is none. */
uint64_t params_id(const char *segment);

#endif
