/* Every statement of the store is served by an index: none walks a table, none sorts. */
#include "master/store/db.h"

#include "tests/unit/master/store/rig.h"

static bool is_bad(const char *detail)
{
    return strncmp(detail, "SCAN", 4) == 0 || strstr(detail, "TEMP B-TREE") != NULL ||
           strstr(detail, "AUTOMATIC") != NULL;
}

/* Reading the rows of the statement's own, bounded and indexed, subquery is no walk of a table. */
static bool is_allowed(const char *detail)
{
    return strcmp(detail, "SCAN (subquery-1)") == 0;
}

static unsigned count_bad(sqlite3 *handle, const char *sql)
{
    char *explain = xasprintf("EXPLAIN QUERY PLAN %s", sql);
    sqlite3_stmt *stmt = NULL;
    unsigned bad = 0;

    if (sqlite3_prepare_v2(handle, explain, -1, &stmt, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(handle));
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(stmt, 3);

        if (!is_bad(detail) || is_allowed(detail))
            continue;
        print_message("%s\n  %s\n", sql, detail);
        bad++;
    }
    (void)sqlite3_finalize(stmt);
    free(explain);
    return bad;
}

static sqlite3 *open_database(struct rig *rig)
{
    char *path = fs_join(rig->data, "tailrace.db");
    sqlite3 *handle = NULL;

    assert_int_equal(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    free(path);
    return handle;
}

static void test_no_statement_scans(void **state)
{
    sqlite3 *handle = open_database(*state);
    unsigned bad = 0;

    assert_true(reader_statement_count() > 40);
    for (size_t i = 0; i < reader_statement_count(); i++)
        bad += count_bad(handle, reader_statement(i));
    (void)sqlite3_close(handle);
    assert_int_equal(bad, 0);
}

/* The test above can fail. */
static void test_scans_are_seen(void **state)
{
    sqlite3 *handle = open_database(*state);

    assert_int_equal(count_bad(handle, "SELECT * FROM builds WHERE note = 'x'"), 1);
    assert_int_equal(count_bad(handle, "SELECT id FROM builds WHERE set_id = 1 ORDER BY note"), 1);
    (void)sqlite3_close(handle);
}

/* Parents are looked up when a child is written, and children when a parent goes: both by an index.
 */
static void test_foreign_keys_have_indexes(void **state)
{
    sqlite3 *handle = open_database(*state);
    static const char *const look_ups[] = {
        "SELECT 1 FROM builds WHERE set_id = ?",
        "SELECT 1 FROM changes WHERE set_id = ?",
        "SELECT 1 FROM waits WHERE build = ?",
        "SELECT 1 FROM attempts WHERE build = ?",
        "SELECT 1 FROM steps WHERE build = ? AND attempt = ?",
        "SELECT 1 FROM points WHERE build = ? AND attempt = ?",
    };
    unsigned bad = 0;

    for (size_t i = 0; i < sizeof look_ups / sizeof look_ups[0]; i++)
        bad += count_bad(handle, look_ups[i]);
    (void)sqlite3_close(handle);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_statement_scans, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_scans_are_seen, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_foreign_keys_have_indexes, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
