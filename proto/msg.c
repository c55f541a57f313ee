#include "proto/msg.h"

#include <string.h>

static const char *const results[RESULT_LAST + 1] = {
    [RESULT_NONE] = "none",           [RESULT_SUCCESS] = "success",
    [RESULT_WARNINGS] = "warnings",   [RESULT_FAILURE] = "failure",
    [RESULT_EXCEPTION] = "exception", [RESULT_CANCELLED] = "cancelled",
    [RESULT_SKIPPED] = "skipped",
};

static const char *const step_kinds[STEP_KIND_LAST + 1] = {
    [STEP_CHECKOUT] = "checkout",
    [STEP_BUILD] = "build",
    [STEP_TEST] = "test",
    [STEP_BENCHMARK] = "benchmark",
};

static const char *name_at(const char *const *names, unsigned last, unsigned i)
{
    return i <= last && names[i] ? names[i] : "?";
}

/* 0 when the word is none. */
static unsigned find_name(const char *const *names, unsigned last, const char *name)
{
    for (unsigned i = 1; name && i <= last; i++) {
        if (names[i] && strcmp(names[i], name) == 0)
            return i;
    }
    return 0;
}

const char *result_name(enum build_result result)
{
    return name_at(results, RESULT_LAST, result);
}

const char *step_kind_name(enum step_kind kind)
{
    return name_at(step_kinds, STEP_KIND_LAST, kind);
}

enum build_result result_of_name(const char *name)
{
    return (enum build_result)find_name(results, RESULT_LAST, name);
}

enum step_kind step_kind_of_name(const char *name)
{
    return (enum step_kind)find_name(step_kinds, STEP_KIND_LAST, name);
}
