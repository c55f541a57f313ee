/*
 * url: a request's target, taken apart: the segments of its path and the parameters of its query,
 * percent-decoded one by one, so that an encoded slash stays inside its segment. Pure.
 */
#ifndef TAILRACE_MASTER_HTTP_URL_H
#define TAILRACE_MASTER_HTTP_URL_H

#include "common/base/err.h"
#include "common/base/str.h"

enum { URL_MAX_BYTES = 8192, URL_MAX_SEGMENTS = 16, URL_MAX_PARAMS = 32 };

struct url_param {
    const char *name, *value;
};

struct url {
    char *path; /* as sent, without query; "/" at least */
    const char *segments[URL_MAX_SEGMENTS];
    size_t n_segments; /* "/" has one, which is empty */
    struct url_param params[URL_MAX_PARAMS];
    size_t n_params;
    char *text; /* what segments and params point into */
};

/* Reads "/path?query", or the absolute form. *out must be empty; it is released with url_release().
 * ERR_CONFIG for what is no target, bad escapes, control characters, bytes that are not UTF-8 and a
 * parameter given twice; ERR_LIMIT for too much. */
enum err_code url_parse(struct view target, struct url *out, struct err *err) TAILRACE_MUST_CHECK;
void url_release(struct url *url);
/* NULL when it is not there. */
const char *url_param(const struct url *url, const char *name);

#endif
