#include "client/table.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct table_column columns[] = {
    {"BUILD", true, TABLE_WHOLE, 0},
    {"BRANCH", false, TABLE_CUT, 0},
    {"SLAVE", false, TABLE_WHOLE, 0},
    {"RESULT", false, TABLE_WHOLE, 0},
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
    /* It is not shortened to nothing, and then all columns give. */
    check("a-long-name-of-a-branch", 24, false,
          " BUILD  BRANCH   RESULT\n"
          "     7  a-lo...  success\n"
          "123456  m\n");
    check("a-long-name-of-a-branch", 16, false,
          "B...  B...  R...\n"
          "   7  a...  s...\n"
          "1...  m\n");
    check("a-long-name-of-a-branch", 1, false,
          "B...  B...  R...\n"
          "   7  a...  s...\n"
          "1...  m\n");
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

static const struct table_column reasoned[] = {
    {"NAME", false, TABLE_CUT, 0},
    {"POOL", false, TABLE_WHOLE, 2},
    {"STATE", false, TABLE_WHOLE, 1},
    {"REASON", false, TABLE_WRAP, 0},
};

static void check_reasoned(const char *reason, unsigned width, const char *expected)
{
    struct str out = STR_INIT(10000);
    struct table table;

    table_init(&table, reasoned, 4);
    table_row(&table);
    table_cell(&table, STYLE_PLAIN, "one");
    table_cell(&table, STYLE_PLAIN, "linux");
    table_cell(&table, STYLE_PLAIN, "idle");
    table_cell(&table, STYLE_PLAIN, reason);
    table_row(&table);
    table_cell(&table, STYLE_PLAIN, "two");
    table_cell(&table, STYLE_PLAIN, "linux");
    table_cell(&table, STYLE_PLAIN, "busy");
    table_cell(&table, STYLE_PLAIN, "short");
    table_print(&table, width, false, &out);
    assert_string_equal(str_cstr(&out), expected);
    table_release(&table);
    str_release(&out);
}

static void test_sentences_wrap(void **state)
{
    (void)state;
    check_reasoned("2nd in pool linux, 2 slots of 2 busy", 46,
                   "NAME  POOL   STATE  REASON\n"
                   "one   linux  idle   2nd in pool linux, 2 slots\n"
                   "                    of 2 busy\n"
                   "two   linux  busy   short\n");
    /* A word that is too long for a line is broken, not cut. */
    check_reasoned("no slave has os=debian-13-of-the-newest-kind", 44,
                   "NAME  POOL   STATE  REASON\n"
                   "one   linux  idle   no slave has\n"
                   "                    os=debian-13-of-the-newe\n"
                   "                    st-kind\n"
                   "two   linux  busy   short\n");
}

static void test_columns_are_dropped_in_their_order(void **state)
{
    static const char reason[] = "2nd in pool linux, 2 slots of 2 busy";

    (void)state;
    check_reasoned(reason, 40,
                   "NAME  STATE  REASON\n"
                   "one   idle   2nd in pool linux, 2 slots\n"
                   "             of 2 busy\n"
                   "two   busy   short\n");
    check_reasoned(reason, 32,
                   "NAME  REASON\n"
                   "one   2nd in pool linux, 2 slots\n"
                   "      of 2 busy\n"
                   "two   short\n");
    /* The sentence is whole however narrow it gets. */
    check_reasoned(reason, 20,
                   "NAME  REASON\n"
                   "one   2nd in pool\n"
                   "      linux, 2 slots\n"
                   "      of 2 busy\n"
                   "two   short\n");
}

static void test_a_break_is_within_the_width(void **state)
{
    (void)state;
    assert_int_equal(print_break(view_of("ab cd ef"), 5), 5);
    assert_int_equal(print_break(view_of("ab cd ef"), 6), 5);
    assert_int_equal(print_break(view_of("ab cd ef"), 4), 2);
    assert_int_equal(print_break(view_of("abcdef"), 4), 4);
    assert_int_equal(print_break(view_of("abc"), 4), 3);
    assert_int_equal(print_break(view_of(" abcdef"), 4), 4);
    assert_int_equal(print_break(view_of("\xc3\xa4\xc3\xb6"), 1), 2);
    assert_int_equal(print_break(view_of("ab"), 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_colour),
        cmocka_unit_test(test_fits_the_terminal),
        cmocka_unit_test(test_sentences_wrap),
        cmocka_unit_test(test_columns_are_dropped_in_their_order),
        cmocka_unit_test(test_a_break_is_within_the_width),
        cmocka_unit_test(test_wide_characters),
        cmocka_unit_test(test_hostile_text_is_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
