#include "master/http/params.h"

#include <string.h>

#include "common/base/text.h"

enum { SHOWN_MAX = 80 };

enum err_code params_u64(const struct url *url, const char *name, uint64_t least, uint64_t most,
                         uint64_t *out, struct err *err)
{
    const char *value = url_param(url, name);
    enum err_code rc;

    if (!value)
        return ERR_OK;
    rc = text_u64(view_of(value), least, most, out, err);
    if (rc)
        err_prefix(err, "parameter %s", name);
    return rc;
}

enum err_code params_limit(const struct url *url, unsigned *out, struct err *err)
{
    uint64_t limit = *out;
    enum err_code rc = params_u64(url, "limit", 1, PARAMS_LIMIT_MAX, &limit, err);

    if (rc == ERR_OK)
        *out = (unsigned)limit;
    return rc;
}

enum err_code params_bool(const struct url *url, const char *name, bool *out, struct err *err)
{
    const char *value = url_param(url, name);

    if (!value)
        return ERR_OK;
    if (strcmp(value, "1") == 0 || strcmp(value, "true") == 0)
        *out = true;
    else if (strcmp(value, "0") == 0 || strcmp(value, "false") == 0)
        *out = false;
    else
        return err_set(err, ERR_CONFIG, "parameter %s: '%.*s' is not 1 or 0", name, SHOWN_MAX,
                       value);
    return ERR_OK;
}

enum err_code params_state(const struct url *url, enum build_state *out, struct err *err)
{
    const char *value = url_param(url, "state");

    if (!value || build_state_of_name(value, out))
        return ERR_OK;
    return err_set(err, ERR_CONFIG,
                   "parameter state: '%.*s' is not one of waiting, queued, running, detached, "
                   "finished",
                   SHOWN_MAX, value);
}

enum err_code params_result(const struct url *url, enum build_result *out, struct err *err)
{
    const char *value = url_param(url, "result");
    enum build_result result = value ? result_of_name(value) : RESULT_NONE;

    if (value && result == RESULT_NONE)
        return err_set(err, ERR_CONFIG,
                       "parameter result: '%.*s' is not one of success, warnings, failure, "
                       "exception, cancelled, skipped",
                       SHOWN_MAX, value);
    *out = result;
    return ERR_OK;
}

static bool is_among(const char *name, const char *words)
{
    size_t n = strlen(name);

    while (*words) {
        size_t word = strcspn(words, " ");

        if (word == n && memcmp(words, name, n) == 0)
            return true;
        words += word;
        words += strspn(words, " ");
    }
    return false;
}

enum err_code params_check(const struct url *url, const char *known, struct err *err)
{
    for (size_t i = 0; i < url->n_params; i++) {
        const char *name = url->params[i].name;

        if (*name && is_among(name, known))
            continue;
        if (*known == '\0')
            return err_set(err, ERR_CONFIG, "unknown parameter '%.*s': expected none", SHOWN_MAX,
                           name);
        return err_set(err, ERR_CONFIG, "unknown parameter '%.*s': expected one of: %s", SHOWN_MAX,
                       name, known);
    }
    return ERR_OK;
}

uint64_t params_id(const char *segment)
{
    uint64_t id = 0;

    if (text_u64(view_of(segment), 1, INT64_MAX, &id, NULL))
        return 0;
    return id;
}
