#include "client/table.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct table_column columns[] = {
    {"BUILD", true, false},
    {"BRANCH", false, true},
    {"SLAVE", false, false},
    {"RESULT", false, false},
};

static void fill(struct table *table, const char *branch)
{
    table_init(table, columns, 4);
    table_row(table);
    table_cell_i64(table, 7);
    table_cell(table, STYLE_PLAIN, branch);
    table_cell(table, STYLE_PLAIN, NULL);
    table_cell(table, STYLE_GOOD, "success");
    table_row(table);
    table_cell_i64(table, 123456);
    table_cell(table, STYLE_PLAIN, "m");
}

static void check(const char *branch, unsigned width, bool colour, const char *expected)
{
    struct str out = STR_INIT(10000);
    struct table table;

    fill(&table, branch);
    table_print(&table, width, colour, &out);
    assert_string_equal(str_cstr(&out), expected);
    table_release(&table);
    str_release(&out);
}

static void test_alignment(void **state)
{
    (void)state;
    /* No slave stands in any row: the column is left out. */
    check("master", 0, false,
          " BUILD  BRANCH  RESULT\n"
          "     7  master  success\n"
          "123456  m\n");
}

static void test_colour(void **state)
{
    (void)state;
    check("master", 0, true,
          " \033[2mBUILD\033[0m  \033[2mBRANCH\033[0m  \033[2mRESULT\033[0m\n"
          "     7  master  \033[32msuccess\033[0m\n"
          "123456  m\n");
}

static void test_fits_the_terminal(void **state)
{
    (void)state;
    check("a-long-name-of-a-branch", 30, false,
          " BUILD  BRANCH         RESULT\n"
          "     7  a-long-nam...  success\n"
          "123456  m\n");
    /* It is not shortened to nothing. */
    check("a-long-name-of-a-branch", 5, false,
          " BUILD  BRANCH    RESULT\n"
          "     7  a-lon...  success\n"
          "123456  m\n");
}

static void test_wide_characters(void **state)
{
    (void)state;
    check("\xc3\xa4\xc3\xb6\xc3\xbc", 0, false,
          " BUILD  BRANCH  RESULT\n"
          "     7  \xc3\xa4\xc3\xb6\xc3\xbc     success\n"
          "123456  m\n");
}

static void test_hostile_text_is_harmless(void **state)
{
    (void)state;
    check("a\033[2Jb", 0, false,
          " BUILD  BRANCH     RESULT\n"
          "     7  a\\x1b[2Jb  success\n"
          "123456  m\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_fits_the_terminal),
        cmocka_unit_test(test_wide_characters),
        cmocka_unit_test(test_hostile_text_is_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
