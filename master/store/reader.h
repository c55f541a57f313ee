/*
 * reader: the web's own read-only connection to the database. Every list is served by an index (a
 * test holds the plans against that), every list is paged by key. Strings in the infos given to
 * callbacks are owned by the reader and good during the call. A callback may call the reader's
 * other functions, not the one that it is called from.
 */
#ifndef TAILRACE_MASTER_STORE_READER_H
#define TAILRACE_MASTER_STORE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "master/model.h"

struct reader;

/* One thread uses one reader. The database must exist. */
enum err_code reader_open(const char *data, struct reader **out,
                          struct err *err) TAILRACE_MUST_CHECK;
void reader_close(struct reader *reader); /* NULL allowed */

/* Zero and NULL mean: any. Any combination is served by an index, with a bounded scan along it. */
struct build_filter {
    const char *builder, *project, *branch, *revision, *slave;
    enum build_state state;   /* 0: any */
    enum build_result result; /* RESULT_NONE: any */
    uint64_t set_id;
    uint64_t before; /* ids below this; 0: from the newest */
    unsigned limit;
};

typedef void (*reader_build_fn)(void *arg, const struct build_info *build);

/* Newest first. *next is the cursor for the next page, 0 when this was the last. A page may hold
 * fewer than limit and have a next one: one call looks at a bounded number of rows. */
enum err_code reader_builds(struct reader *reader, const struct build_filter *filter,
                            reader_build_fn fn, void *arg, uint64_t *next,
                            struct err *err) TAILRACE_MUST_CHECK;
/* ERR_NOTFOUND when there is none. */
enum err_code reader_build(struct reader *reader, uint64_t id, reader_build_fn fn, void *arg,
                           struct err *err) TAILRACE_MUST_CHECK;
enum err_code reader_attempts(struct reader *reader, uint64_t build,
                              void (*fn)(void *arg, const struct attempt_info *attempt), void *arg,
                              struct err *err) TAILRACE_MUST_CHECK;
/* Attempts from the first; steps by number. None at all is no error. attempt 0: the newest. */
enum err_code reader_steps(struct reader *reader, uint64_t build, uint32_t attempt,
                           void (*fn)(void *arg, const struct step_info *step), void *arg,
                           struct err *err) TAILRACE_MUST_CHECK;
enum err_code reader_waits(struct reader *reader, uint64_t build,
                           void (*fn)(void *arg, uint64_t waits_for), void *arg,
                           struct err *err) TAILRACE_MUST_CHECK;

struct point_row {
    uint32_t step;
    const char *suite, *test, *metric, *unit;
    uint32_t better, iteration;
    double value;
};
/* attempt 0: the newest. after: rowid cursor, 0 at first; *next 0 at the end. */
enum err_code reader_points(struct reader *reader, uint64_t build, uint32_t attempt, uint64_t after,
                            unsigned limit, void (*fn)(void *arg, const struct point_row *point),
                            void *arg, uint64_t *next, struct err *err) TAILRACE_MUST_CHECK;
/* ERR_NOTFOUND when there is none. */
enum err_code reader_set(struct reader *reader, uint64_t id,
                         void (*fn)(void *arg, const struct set_info *set), void *arg,
                         struct err *err) TAILRACE_MUST_CHECK;
enum err_code reader_changes(struct reader *reader, const char *project, const char *branch,
                             uint64_t before, unsigned limit,
                             void (*fn)(void *arg, const struct change_info *change), void *arg,
                             uint64_t *next, struct err *err) TAILRACE_MUST_CHECK;
/* The newest build of each branch that the builder ever built, at most limit branches, the newest
 * build first. */
enum err_code reader_last_by_branch(struct reader *reader, const char *builder, unsigned limit,
                                    reader_build_fn fn, void *arg,
                                    struct err *err) TAILRACE_MUST_CHECK;
/* The median duration in seconds of the last 20 successes (or warnings) of a builder; *seconds < 0
 * when there is none. */
enum err_code reader_expected(struct reader *reader, const char *builder, double *seconds,
                              struct err *err) TAILRACE_MUST_CHECK;
/* All statements of the reader and of the writer's look-ups, for the test that explains their
 * plans. */
size_t reader_statement_count(void);
const char *reader_statement(size_t index);

#endif
