#include "client/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "client/verbs.h"

enum { WORDS_MAX = 16 };

/* Reads "force b --wait" as words behind the program's name; the verb's words with verb_find. */
static enum err_code parse(const char *line, struct args *args, struct err *err)
{
    const char *words[WORDS_MAX + 1] = {NULL};
    struct str copy = STR_INIT(10000);
    const struct verb *verb;
    enum err_code rc;
    int n = 0;

    str_put(&copy, line);
    for (char *word = copy.p; word && n < WORDS_MAX; n++) {
        char *space = strchr(word, ' ');

        words[n] = word;
        if (space)
            *space++ = '\0';
        word = space;
    }
    verb = verb_find(words[0]);
    assert_non_null(verb);
    rc = args_parse_verb(verb, n, words, args, err);
    str_release(&copy);
    return rc;
}

static void check_refused(const char *line, const char *sentence)
{
    struct args args = {0};
    struct err err = ERR_INIT;

    assert_int_equal(parse(line, &args, &err), ERR_CONFIG);
    assert_string_equal(err.msg, sentence);
    args_release(&args);
}

static void test_options_and_words_mix(void **state)
{
    struct args args = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(parse("force --branch=r-2 sds-build -w --priority high --json", &args, &err),
                     ERR_OK);
    assert_int_equal(args.words.n, 1);
    assert_string_equal(args.words.v[0], "sds-build");
    assert_string_equal(args.branch, "r-2");
    assert_string_equal(args.priority, "high");
    assert_true(args.wait);
    assert_true(args.json);
    assert_null(args.revision);
    args_release(&args);
}

static void test_repeated_options(void **state)
{
    struct args args = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(
        parse("sendchange -p a -p sds -B master -r 1f --file a.c --file b.c -f c.c", &args, &err),
        ERR_OK);
    assert_string_equal(args.project, "sds");
    assert_int_equal(args.files.n, 3);
    assert_string_equal(args.files.v[2], "c.c");
    args_release(&args);
}

static void test_words_behind_two_dashes(void **state)
{
    struct args args = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(parse("log 12 --stderr -- --follow", &args, &err), ERR_OK);
    assert_false(args.follow);
    assert_true(args.stderr_log);
    assert_string_equal(args.words.v[1], "--follow");
    args_release(&args);
}

static void test_mistakes(void **state)
{
    (void)state;
    check_refused("force", "force: expected BUILDER");
    check_refused("show 12 13", "show: '13' is one word too many");
    check_refused("builds --brnch x",
                  "builds: there is no option --brnch here; did you mean --branch?");
    check_refused("show 12 --stderr", "show: there is no option --stderr here");
    check_refused("status --follow", "status: there is no option --follow here");
    check_refused("builds --limit", "builds: --limit: a value is missing");
    check_refused("builds --limit 0", "builds: --limit: expected a number from 1 to 1000, not '0'");
    check_refused("builds --limit 1001",
                  "builds: --limit: expected a number from 1 to 1000, not '1001'");
    check_refused("builds --result succes",
                  "builds: --result: there is no result 'succes'; did you mean 'success'?");
    check_refused("force b --priority urgent", "force: --priority: there is no priority 'urgent'");
}

static void test_help_needs_no_words(void **state)
{
    struct args args = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(parse("force --help", &args, &err), ERR_OK);
    assert_true(args.help);
    args_release(&args);
}

static void test_global_options_end_at_the_verb(void **state)
{
    const char *const argv[] = {"tailrace", "-m", "ci:80", "log", "12", "--follow", NULL};
    struct args args = {0};
    struct err err = ERR_INIT;
    int rest = 0;

    (void)state;
    assert_int_equal(args_parse_global(6, argv, &args, &rest, &err), ERR_OK);
    assert_int_equal(rest, 3);
    assert_string_equal(args.master, "ci:80");
    assert_false(args.follow);
    args_release(&args);
}

static void test_no_verb(void **state)
{
    const char *const argv[] = {"tailrace", "--version", NULL};
    struct args args = {0};
    struct err err = ERR_INIT;
    int rest = 0;

    (void)state;
    assert_int_equal(args_parse_global(2, argv, &args, &rest, &err), ERR_OK);
    assert_int_equal(rest, 2);
    assert_true(args.version);
    args_release(&args);
}

static void test_verbs_are_found(void **state)
{
    (void)state;
    assert_null(verb_find("fource"));
    assert_string_equal(verb_near("fource"), "force");
    assert_null(verb_near("xyzzy"));
    for (size_t i = 0; i < verbs_n; i++) {
        assert_ptr_equal(verb_find(verbs[i].name), &verbs[i]);
        assert_true(verbs[i].least <= verbs[i].most);
        assert_non_null(verbs[i].run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_and_words_mix),
        cmocka_unit_test(test_repeated_options),
        cmocka_unit_test(test_words_behind_two_dashes),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_help_needs_no_words),
        cmocka_unit_test(test_global_options_end_at_the_verb),
        cmocka_unit_test(test_no_verb),
        cmocka_unit_test(test_verbs_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
