#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/yamltree.h"

struct fixture {
    struct yaml_tree *tree;
    struct yaml_errors errors;
};

static int set_up(void **state)
{
    static const char text[] = "text: hello\n"
                               "quoted: 'no'\n"
                               "nothing:\n"
                               "nul: \"a\\0b\"\n"
                               "yes: On\n"
                               "no: FALSE\n"
                               "number: 42\n"
                               "octal: 0755\n"
                               "time: 1h30m\n"
                               "size: 64KiB\n"
                               "list: [a]\n"
                               "map: {stpes: 1, pool: 2, zzz: 3}\n"
                               "word: quened\n"
                               "other: \"\\e[2J\"\n"
                               "good: {pool: 1}\n";
    struct fixture *f = calloc(1, sizeof *f);

    f->tree = yaml_parse(view_of(text), "f", &f->errors);
    *state = f;
    return f->tree ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    yaml_tree_free(f->tree);
    yaml_errors_release(&f->errors);
    free(f);
    return 0;
}

static const struct yaml_node *at(const struct fixture *f, const char *key)
{
    const struct yaml_node *node = yaml_get(yaml_root(f->tree), key);

    assert_non_null(node);
    return node;
}

/* That exactly this error came since the last look. */
static void assert_error(struct fixture *f, const char *expected)
{
    assert_int_equal(f->errors.v.n, 1);
    assert_string_equal(f->errors.v.v[0], expected);
    yaml_errors_release(&f->errors);
}

static void texts(void **state)
{
    struct fixture *f = *state;
    char *out = strdup("old");

    assert_false(yaml_read_text(at(f, "list"), &f->errors, &out));
    assert_error(f, "f:11:7: a list: expected text");
    assert_false(yaml_read_text(at(f, "nothing"), &f->errors, &out));
    assert_error(f, "f:3:9: nothing: expected text");
    assert_false(yaml_read_text(at(f, "nul"), &f->errors, &out));
    assert_error(f, "f:4:6: text with a NUL byte: expected text without");
    assert_string_equal(out, "old");
    assert_true(yaml_read_text(at(f, "quoted"), &f->errors, &out));
    assert_string_equal(out, "no");
    assert_true(yaml_read_text(at(f, "octal"), &f->errors, &out));
    assert_string_equal(out, "0755");
    assert_int_equal(f->errors.v.n, 0);
    free(out);
}

static void truths(void **state)
{
    struct fixture *f = *state;
    bool out = false;

    assert_true(yaml_read_bool(at(f, "yes"), &f->errors, &out));
    assert_true(out);
    assert_true(yaml_read_bool(at(f, "no"), &f->errors, &out));
    assert_false(out);
    assert_false(yaml_read_bool(at(f, "text"), &f->errors, &out));
    assert_error(f, "f:1:7: 'hello' is neither true nor false: expected true or false");
    assert_false(yaml_read_bool(at(f, "map"), &f->errors, &out));
    assert_error(f, "f:12:6: a mapping: expected true or false");
    assert_false(yaml_read_bool(at(f, "other"), &f->errors, &out));
    assert_error(f, "f:14:8: '\\x1b[2J' is neither true nor false: expected true or false");
}

static void numbers(void **state)
{
    struct fixture *f = *state;
    uint64_t out = 7;

    assert_false(yaml_read_u64(at(f, "number"), &f->errors, 1, 41, &out));
    assert_error(f, "f:7:9: '42' is not in the range: expected 1 to 41");
    assert_false(yaml_read_u64(at(f, "octal"), &f->errors, 0, 1000, &out));
    assert_error(f, "f:8:8: a number with a leading zero: expected one without");
    assert_false(yaml_read_u64(at(f, "list"), &f->errors, 0, 1000, &out));
    assert_error(f, "f:11:7: a list: expected a whole number");
    assert_int_equal(out, 7);
    assert_true(yaml_read_u64(at(f, "number"), &f->errors, 1, 42, &out));
    assert_int_equal(out, 42);
}

static void durations_and_sizes(void **state)
{
    struct fixture *f = *state;
    uint64_t out = 7;

    assert_false(yaml_read_duration(at(f, "text"), &f->errors, &out));
    assert_error(f,
                 "f:1:7: 'hello' is not a duration: expected for example 500ms, 30s, 2m or 1h30m");
    assert_false(yaml_read_duration(at(f, "map"), &f->errors, &out));
    assert_error(f, "f:12:6: a mapping: expected a duration, for example 30s");
    assert_false(yaml_read_size(at(f, "time"), &f->errors, &out));
    assert_error(f,
                 "f:9:7: '1h30m' is not a size: expected for example 4096, 64KiB, 200MiB or 2GB");
    assert_false(yaml_read_size(at(f, "nothing"), &f->errors, &out));
    assert_error(f, "f:3:9: nothing: expected a size, for example 200MiB");
    assert_int_equal(out, 7);
    assert_true(yaml_read_duration(at(f, "time"), &f->errors, &out));
    assert_int_equal(out, 5400000);
    assert_true(yaml_read_size(at(f, "size"), &f->errors, &out));
    assert_int_equal(out, 65536);
}

static void words(void **state)
{
    static const char *const words[] = {"never", "queued", "hello"};
    struct fixture *f = *state;
    size_t out = 9;

    assert_false(yaml_read_word(at(f, "word"), &f->errors, words, 3, &out));
    assert_error(f, "f:13:7: unknown word 'quened': did you mean 'queued'?");
    assert_false(yaml_read_word(at(f, "number"), &f->errors, words, 3, &out));
    assert_error(f, "f:7:9: unknown word '42': expected one of never, queued, hello");
    assert_false(yaml_read_word(at(f, "number"), &f->errors, words, 0, &out));
    assert_error(f, "f:7:9: unknown word '42': expected none");
    assert_false(yaml_read_word(at(f, "list"), &f->errors, words, 3, &out));
    assert_error(f, "f:11:7: a list: expected a word");
    assert_int_equal(out, 9);
    assert_true(yaml_read_word(at(f, "text"), &f->errors, words, 3, &out));
    assert_int_equal(out, 2);
}

static void keys(void **state)
{
    static const char *const words[] = {"steps", "pool"};
    struct fixture *f = *state;

    assert_false(yaml_check_keys(at(f, "map"), &f->errors, "a builder", words, 2));
    assert_int_equal(f->errors.v.n, 2);
    assert_string_equal(f->errors.v.v[0],
                        "f:12:7: unknown key 'stpes' in a builder: did you mean 'steps'?");
    assert_string_equal(f->errors.v.v[1],
                        "f:12:26: unknown key 'zzz' in a builder: expected one of steps, pool");
    yaml_errors_release(&f->errors);
    assert_false(yaml_check_keys(at(f, "list"), &f->errors, "a builder", words, 2));
    assert_error(f, "f:11:7: a list: expected a builder, a mapping");
    assert_true(yaml_check_keys(at(f, "good"), &f->errors, "a builder", words, 2));
    assert_int_equal(f->errors.v.n, 0);
}

static void errors_without_a_place(void **state)
{
    struct fixture *f = *state;

    yaml_error(&f->errors, NULL, "%s", "anywhere");
    assert_error(f, "anywhere");
    yaml_error_at(&f->errors, "g", 0, 0, "%d", 5);
    assert_error(f, "g: 5");
    yaml_error_at(&f->errors, "g", 2, 3, "%d", 5);
    assert_error(f, "g:2:3: 5");
    assert_string_equal(yaml_kind_name(NULL), "nothing");
    assert_string_equal(yaml_kind_name(at(f, "map")), "a mapping");
    assert_string_equal(yaml_kind_name(at(f, "text")), "text");
}

/* A sentence may quote the file as it is: no terminal obeys it, no log takes it for two lines. */
static void errors_cannot_act(void **state)
{
    struct fixture *f = *state;
    const struct yaml_node *other = yaml_get(yaml_root(f->tree), "other");

    yaml_error(&f->errors, other, "there is no pool %.*s\n", VIEW_ARG(other->text));
    yaml_error(&f->errors, NULL, "no \r\xc2\x9b");
    yaml_error_at(&f->errors, "a\033b", 0, 0, "no");
    assert_int_equal(f->errors.v.n, 3);
    assert_string_equal(f->errors.v.v[0], "f:14:8: there is no pool \\x1b[2J\\x0a");
    assert_string_equal(f->errors.v.v[1], "no \\x0d\\xc2\\x9b");
    assert_string_equal(f->errors.v.v[2], "a\\x1bb: no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(truths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(durations_and_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_without_a_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(errors_cannot_act, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
