/* The reader's lists of what belongs to a build or stands beside builds. */
#include <math.h>
#include <stdlib.h>

#include "master/store/reader_impl.h"
#include "master/store/rows.h"

enum err_code reader_attempts(struct reader *reader, uint64_t build,
                              void (*fn)(void *arg, const struct attempt_info *attempt), void *arg,
                              struct err *err)
{
    struct attempt_info attempt;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(&reader->db, SQL_ATTEMPTS_OF_BUILD, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    while ((rc = db_step(&reader->db, stmt, &row, err)) == ERR_OK && row) {
        attempt_row(stmt, &attempt, NULL);
        fn(arg, &attempt);
    }
    db_end(stmt);
    return rc;
}

/* Turns attempt 0 into the newest one's number; it stays 0 when there is none. */
static enum err_code newest_attempt(struct reader *reader, uint64_t build, uint32_t *attempt,
                                    struct err *err)
{
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc;

    if (*attempt)
        return ERR_OK;
    rc = db_begin(&reader->db, SQL_ATTEMPT_NEWEST, &stmt, err);
    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    rc = db_step(&reader->db, stmt, &row, err);
    if (rc == ERR_OK && row)
        *attempt = db_u32(stmt, 0);
    db_end(stmt);
    return rc;
}

enum err_code reader_steps(struct reader *reader, uint64_t build, uint32_t attempt,
                           void (*fn)(void *arg, const struct step_info *step), void *arg,
                           struct err *err)
{
    struct step_info step;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = newest_attempt(reader, build, &attempt, err);

    if (rc == ERR_OK)
        rc = db_begin(&reader->db, SQL_STEPS_OF_ATTEMPT, &stmt, err);
    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    db_bind_u64(stmt, 2, attempt);
    while ((rc = db_step(&reader->db, stmt, &row, err)) == ERR_OK && row) {
        step_row(stmt, &step);
        fn(arg, &step);
    }
    db_end(stmt);
    return rc;
}

enum err_code reader_waits(struct reader *reader, uint64_t build,
                           void (*fn)(void *arg, uint64_t waits_for), void *arg, struct err *err)
{
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(&reader->db, SQL_WAITS_OF_BUILD, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    while ((rc = db_step(&reader->db, stmt, &row, err)) == ERR_OK && row)
        fn(arg, db_u64(stmt, 0));
    db_end(stmt);
    return rc;
}

/* Columns as SQL_POINTS_OF_ATTEMPT names them; NaN is stored as NULL. */
static struct point_row point_of(sqlite3_stmt *stmt)
{
    return (struct point_row){
        .step = db_u32(stmt, 1),
        .suite = db_text(stmt, 2),
        .test = db_text(stmt, 3),
        .metric = db_text(stmt, 4),
        .unit = db_text(stmt, 5),
        .better = db_u32(stmt, 6),
        .iteration = db_u32(stmt, 7),
        .value = sqlite3_column_type(stmt, 8) == SQLITE_NULL ? NAN : sqlite3_column_double(stmt, 8),
    };
}

enum err_code reader_points(struct reader *reader, uint64_t build, uint32_t attempt, uint64_t after,
                            unsigned limit, void (*fn)(void *arg, const struct point_row *point),
                            void *arg, uint64_t *next, struct err *err)
{
    uint64_t last = 0;
    unsigned given = 0;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = newest_attempt(reader, build, &attempt, err);

    if (rc == ERR_OK)
        rc = db_begin(&reader->db, SQL_POINTS_OF_ATTEMPT, &stmt, err);
    if (rc)
        return rc;
    db_bind_u64(stmt, 1, build);
    db_bind_u64(stmt, 2, attempt);
    db_bind_u64(stmt, 3, after);
    db_bind_u64(stmt, 4, (uint64_t)limit + 1);
    while ((rc = db_step(&reader->db, stmt, &row, err)) == ERR_OK && row && given < limit) {
        struct point_row point = point_of(stmt);

        last = db_u64(stmt, 0);
        given++;
        fn(arg, &point);
    }
    if (rc == ERR_OK)
        *next = row ? last : 0;
    db_end(stmt);
    return rc;
}

enum err_code reader_set(struct reader *reader, uint64_t id,
                         void (*fn)(void *arg, const struct set_info *set), void *arg,
                         struct err *err)
{
    struct set_info set;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(&reader->db, SQL_SET_GET, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, id);
    rc = db_step(&reader->db, stmt, &row, err);
    if (rc == ERR_OK && row) {
        set_row(stmt, &set);
        fn(arg, &set);
    } else if (rc == ERR_OK) {
        rc = err_set(err, ERR_NOTFOUND, "there is no set %llu", (unsigned long long)id);
    }
    db_end(stmt);
    return rc;
}

static enum sql changes_sql(const char *project, const char *branch)
{
    if (project)
        return branch ? SQL_CHANGES_OF_LINE : SQL_CHANGES_OF_PROJECT;
    return branch ? SQL_CHANGES_OF_BRANCH : SQL_CHANGES_ALL;
}

static void bind_changes(sqlite3_stmt *stmt, const char *project, const char *branch,
                         uint64_t before, unsigned limit)
{
    db_bind_i64(stmt, 1, before && before < INT64_MAX ? (int64_t)before : INT64_MAX);
    db_bind_u64(stmt, 2, (uint64_t)limit + 1);
    if (project || branch)
        db_bind_text(stmt, 3, project ? project : branch);
    if (project && branch)
        db_bind_text(stmt, 4, branch);
}

enum err_code reader_changes(struct reader *reader, const char *project, const char *branch,
                             uint64_t before, unsigned limit,
                             void (*fn)(void *arg, const struct change_info *change), void *arg,
                             uint64_t *next, struct err *err)
{
    struct change_info change = {0};
    uint64_t last = 0;
    unsigned given = 0;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(&reader->db, changes_sql(project, branch), &stmt, err);

    if (rc)
        return rc;
    bind_changes(stmt, project, branch, before, limit);
    while ((rc = db_step(&reader->db, stmt, &row, err)) == ERR_OK && row && given < limit) {
        change_row(stmt, &change);
        last = change.id;
        given++;
        fn(arg, &change);
        text_list_release(&change.files);
    }
    if (rc == ERR_OK)
        *next = row ? last : 0;
    db_end(stmt);
    return rc;
}

enum { EXPECTED_OF = 20, EXPECTED_LOOK_AT = 1000 };

static int by_value(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return first < second ? -1 : first > second;
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

enum err_code reader_expected(struct reader *reader, const char *builder, double *seconds,
                              struct err *err)
{
    double took[EXPECTED_OF];
    size_t n = 0;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(&reader->db, SQL_BUILD_DURATIONS, &stmt, err);

    if (rc)
        return rc;
    db_bind_text(stmt, 1, builder);
    db_bind_u64(stmt, 2, EXPECTED_LOOK_AT);
    while (n < EXPECTED_OF && (rc = db_step(&reader->db, stmt, &row, err)) == ERR_OK && row) {
        uint32_t result = db_u32(stmt, 0);
        int64_t started_ms = db_i64(stmt, 1), finished_ms = db_i64(stmt, 2);

        if ((result == RESULT_SUCCESS || result == RESULT_WARNINGS) && started_ms > 0 &&
            finished_ms >= started_ms)
            took[n++] = (double)(finished_ms - started_ms) / 1000;
    }
    db_end(stmt);
    if (rc == ERR_OK)
        *seconds = n ? median(took, n) : -1;
    return rc;
}
