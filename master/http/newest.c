#include "master/http/newest.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/vec.h"

/* The median is read anew at most so often, however fast a builder's builds finish. */
enum { EXPECTED_KEPT_MS = 1000 };

struct line {
    char *builder;
    VEC(struct build_info) builds; /* newest first, one for each branch */
    bool builds_read;
    double expected_s;
    bool expected_read, expected_old;
    uint64_t expected_at_ms;
    UT_hash_handle hh;
};

struct newest {
    struct reader *reader;
    const struct clock *clock;
    struct line *lines;
};

struct newest *newest_new(struct reader *reader, const struct clock *clock)
{
    struct newest *newest = xcalloc(1, sizeof *newest);

    newest->reader = reader;
    newest->clock = clock;
    return newest;
}

static void line_clear(struct line *line)
{
    struct build_info *build;

    VEC_FOREACH (&line->builds, build) {
        build_info_release(build);
    }
    vec_release(&line->builds);
}

void newest_free(struct newest *newest)
{
    struct line *line, *next;

    if (!newest)
        return;
    HASH_ITER (hh, newest->lines, line, next) {
        HASH_DEL(newest->lines, line);
        line_clear(line);
        free(line->builder);
        free(line);
    }
    free(newest);
}

static struct line *find(const struct newest *newest, const char *builder)
{
    struct line *line;

    HASH_FIND_STR(newest->lines, builder, line);
    return line;
}

static struct line *get(struct newest *newest, const char *builder)
{
    struct line *line = find(newest, builder);

    if (line)
        return line;
    line = xcalloc(1, sizeof *line);
    line->builder = xstrdup(builder);
    HASH_ADD_KEYPTR(hh, newest->lines, line->builder, strlen(line->builder), line);
    return line;
}

static int newer_first(const void *a, const void *b)
{
    const struct build_info *left = a;
    const struct build_info *right = b;

    return (left->id < right->id) - (left->id > right->id);
}

static struct build_info *on_branch(struct line *line, const char *branch)
{
    struct build_info *build;

    VEC_FOREACH (&line->builds, build) {
        if (strcmp(build->branch, branch) == 0)
            return build;
    }
    return NULL;
}

static void line_put(struct line *line, const struct build_info *build)
{
    struct build_info *old = on_branch(line, build->branch);

    if (old && old->id > build->id)
        return;
    if (old)
        build_info_release(old);
    else
        old = vec_add(&line->builds);
    build_info_copy(old, build);
    qsort(line->builds.v, line->builds.n, sizeof *line->builds.v, newer_first);
    if (line->builds.n > NEWEST_BRANCHES)
        build_info_release(&line->builds.v[--line->builds.n]);
}

void newest_apply(struct newest *newest, const struct build_info *build)
{
    struct line *line = find(newest, build->builder);

    if (!line)
        return;
    if (line->builds_read)
        line_put(line, build);
    if (build->state == BUILD_FINISHED)
        line->expected_old = true;
}

static bool is_due(const struct newest *newest, const struct line *line)
{
    uint64_t age_ms = clock_mono_ms(newest->clock) - line->expected_at_ms;

    if (!line->expected_read)
        return true;
    return line->expected_old && (line->expected_s < 0 || age_ms >= EXPECTED_KEPT_MS);
}

double newest_expected(struct newest *newest, const char *builder)
{
    struct line *line = get(newest, builder);
    struct err err = ERR_INIT;
    double seconds = -1;

    if (!is_due(newest, line))
        return line->expected_s;
    if (reader_expected(newest->reader, builder, &seconds, &err)) {
        log_warn("web.expected", LOG_STR("builder", builder), LOG_ERR(&err));
        return line->expected_read ? line->expected_s : -1;
    }
    line->expected_s = seconds;
    line->expected_read = true;
    line->expected_old = false;
    line->expected_at_ms = clock_mono_ms(newest->clock);
    return seconds;
}

static void take(void *arg, const struct build_info *build)
{
    build_info_copy(vec_add(&((struct line *)arg)->builds), build);
}

static struct line *with_builds(struct newest *newest, const char *builder)
{
    struct line *line = get(newest, builder);
    struct err err = ERR_INIT;

    if (line->builds_read)
        return line;
    if (reader_last_by_branch(newest->reader, builder, NEWEST_BRANCHES, take, line, &err)) {
        log_warn("web.newest", LOG_STR("builder", builder), LOG_ERR(&err));
        line_clear(line);
        return line;
    }
    if (line->builds.n > 0)
        qsort(line->builds.v, line->builds.n, sizeof *line->builds.v, newer_first);
    line->builds_read = true;
    return line;
}

void newest_each(struct newest *newest, const char *builder, reader_build_fn fn, void *arg)
{
    const struct line *line = with_builds(newest, builder);
    const struct build_info *build;

    VEC_FOREACH (&line->builds, build) {
        fn(arg, build);
    }
}

void newest_warm(struct newest *newest, const char *builder)
{
    (void)with_builds(newest, builder);
    (void)newest_expected(newest, builder);
}
