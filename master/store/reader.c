#include "master/store/reader.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "master/store/reader_impl.h"
#include "master/store/rows.h"

/* How many rows one call looks at when part of a filter is not in the index that it walks along. */
enum { SCAN_ROWS = 1000 };

enum err_code reader_open(const char *data, struct reader **out, struct err *err)
{
    struct reader *reader = xcalloc(1, sizeof *reader);
    enum err_code rc = db_open_reader(&reader->db, data, err);

    if (rc) {
        free(reader);
        return rc;
    }
    *out = reader;
    return ERR_OK;
}

void reader_close(struct reader *reader)
{
    if (!reader)
        return;
    db_close(&reader->db);
    free(reader);
}

/* The statement that walks along the index which leaves the fewest rows, and what it takes behind
 * cursor and limit. */
struct plan {
    enum sql sql;
    const char *text[2]; /* ?3 and ?4 when they are texts */
    uint64_t number;     /* ?3 when it is a number; text[0] is NULL then */
};

static bool is_open(enum build_state state)
{
    return state != 0 && state != BUILD_FINISHED;
}

static struct plan plan_of(const struct build_filter *f)
{
    if (f->set_id)
        return (struct plan){.sql = SQL_BUILDS_OF_SET, .number = f->set_id};
    if (f->revision)
        return (struct plan){.sql = SQL_BUILDS_OF_REVISION, .text = {f->revision}};
    if (is_open(f->state))
        return (struct plan){.sql = SQL_BUILDS_OPEN, .number = f->state};
    if (f->result > RESULT_SUCCESS && f->builder)
        return (struct plan){
            .sql = SQL_BUILDS_OF_BUILDER_RESULT, .number = f->result, .text = {NULL, f->builder}};
    if (f->result > RESULT_SUCCESS)
        return (struct plan){.sql = SQL_BUILDS_OF_RESULT, .number = f->result};
    if (f->builder && f->branch)
        return (struct plan){.sql = SQL_BUILDS_OF_BUILDER_BRANCH, .text = {f->builder, f->branch}};
    if (f->slave)
        return (struct plan){.sql = SQL_BUILDS_OF_SLAVE, .text = {f->slave}};
    if (f->builder)
        return (struct plan){.sql = SQL_BUILDS_OF_BUILDER, .text = {f->builder}};
    if (f->project && f->branch)
        return (struct plan){.sql = SQL_BUILDS_OF_LINE, .text = {f->project, f->branch}};
    if (f->branch)
        return (struct plan){.sql = SQL_BUILDS_OF_BRANCH, .text = {f->branch}};
    return (struct plan){.sql = SQL_BUILDS_ALL};
}

/* Whether the plan's index answers the whole filter: then no row is looked at in vain. */
static bool plan_is_exact(const struct plan *plan, const struct build_filter *f)
{
    unsigned asked = !!f->builder + !!f->project + !!f->branch + !!f->revision + !!f->slave +
                     !!f->state + !!f->result + !!f->set_id;
    unsigned covered = !!plan->text[0] + !!plan->text[1] + !!plan->number;

    return asked == covered;
}

static bool same(const char *wanted, const char *is)
{
    return !wanted || (is && strcmp(wanted, is) == 0);
}

static bool matches(const struct build_filter *f, const struct build_info *build)
{
    return same(f->builder, build->builder) && same(f->project, build->project) &&
           same(f->branch, build->branch) && same(f->revision, build->revision) &&
           same(f->slave, build->slave) && (!f->state || f->state == build->state) &&
           (!f->result || f->result == build->result) && (!f->set_id || f->set_id == build->set_id);
}

static void bind_plan(sqlite3_stmt *stmt, const struct plan *plan, uint64_t before, unsigned rows)
{
    db_bind_i64(stmt, 1, before && before < INT64_MAX ? (int64_t)before : INT64_MAX);
    db_bind_u64(stmt, 2, rows);
    if (plan->text[0])
        db_bind_text(stmt, 3, plan->text[0]);
    else if (plan->number)
        db_bind_u64(stmt, 3, plan->number);
    if (plan->text[1])
        db_bind_text(stmt, 4, plan->text[1]);
}

enum err_code reader_builds(struct reader *reader, const struct build_filter *filter,
                            reader_build_fn fn, void *arg, uint64_t *next, struct err *err)
{
    struct plan plan = plan_of(filter);
    unsigned rows = plan_is_exact(&plan, filter) ? filter->limit + 1 : SCAN_ROWS;
    unsigned seen = 0, given = 0;
    struct build_info build = {0};
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(&reader->db, plan.sql, &stmt, err);

    if (rc)
        return rc;
    bind_plan(stmt, &plan, filter->before, rows);
    while ((rc = db_step(&reader->db, stmt, &row, err)) == ERR_OK && row && given < filter->limit) {
        build_row(stmt, &build);
        seen++;
        if (matches(filter, &build)) {
            given++;
            fn(arg, &build);
        }
    }
    if (rc == ERR_OK)
        *next = row || seen == rows ? build.id : 0;
    db_end(stmt);
    return rc;
}

enum err_code reader_build(struct reader *reader, uint64_t id, reader_build_fn fn, void *arg,
                           struct err *err)
{
    struct build_info build;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(&reader->db, SQL_BUILD_GET, &stmt, err);

    if (rc)
        return rc;
    db_bind_u64(stmt, 1, id);
    rc = db_step(&reader->db, stmt, &row, err);
    if (rc == ERR_OK && row) {
        build_row(stmt, &build);
        fn(arg, &build);
    } else if (rc == ERR_OK) {
        rc = err_set(err, ERR_NOTFOUND, "there is no build %llu", (unsigned long long)id);
    }
    db_end(stmt);
    return rc;
}

enum err_code reader_last_by_branch(struct reader *reader, const char *builder, unsigned limit,
                                    reader_build_fn fn, void *arg, struct err *err)
{
    struct build_info build;
    sqlite3_stmt *stmt;
    bool row = false;
    enum err_code rc = db_begin(&reader->db, SQL_BUILDS_NEWEST, &stmt, err);

    if (rc)
        return rc;
    db_bind_text(stmt, 1, builder);
    db_bind_u64(stmt, 2, limit);
    while ((rc = db_step(&reader->db, stmt, &row, err)) == ERR_OK && row) {
        build_row(stmt, &build);
        fn(arg, &build);
    }
    db_end(stmt);
    return rc;
}

size_t reader_statement_count(void)
{
    return SQL_COUNT;
}

const char *reader_statement(size_t index)
{
    return db_sql((enum sql)index);
}
