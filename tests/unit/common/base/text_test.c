#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/text.h"

struct reading {
    const char *text;
    uint64_t value;
};

static void durations(void **state)
{
    static const struct reading good[] = {
        {"500ms", 500},
        {"30s", 30000},
        {"2m", 120000},
        {"1h", 3600000},
        {"3d", 259200000},
        {"1h30m", 5400000},
        {"1m30s500ms", 90500},
        {"7", 7000},
        {"0", 0},
        {"1d2h3m4s5ms", 93784005},
    };
    static const char *const bad[] = {"",
                                      "s",
                                      "1x",
                                      "1 s",
                                      "-1s",
                                      "1.5h",
                                      "30m1h",
                                      "1h1h",
                                      "1h30",
                                      "1hh",
                                      "1s ",
                                      " 1s",
                                      "1H",
                                      "99999999999999999999",
                                      "999999999999999d",
                                      "1h\n"};
    struct err err = ERR_INIT;
    uint64_t ms;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(text_duration(view_of(good[i].text), &ms, &err), ERR_OK);
        assert_int_equal(ms, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ms = 42;
        assert_int_equal(text_duration(view_of(bad[i]), &ms, &err), ERR_CONFIG);
        assert_int_equal(ms, 42);
    }
    assert_int_equal(text_duration(view_bytes("1\0s", 3), &ms, &err), ERR_CONFIG);
    assert_int_equal(text_duration(view_of("5 parsecs"), &ms, &err), ERR_CONFIG);
    assert_string_equal(err.msg, "'5 parsecs' is not a duration: expected for example 500ms, 30s, "
                                 "2m or 1h30m");
}

static void sizes(void **state)
{
    static const struct reading good[] = {
        {"4096", 4096},
        {"0", 0},
        {"1B", 1},
        {"64KiB", 65536},
        {"200MiB", 209715200},
        {"1GiB", 1073741824},
        {"2TB", 2000000000000},
        {"3kB", 3000},
        {"3KB", 3000},
        {"3K", 3072},
        {"1M", 1048576},
        {"1G", 1073741824},
        {"1T", 1099511627776},
        {"5MB", 5000000},
        {"18446744073709551615", UINT64_MAX},
    };
    static const char *const bad[] = {"",         "K",     "1k",  "1 KiB", "1.5G",
                                      "-1",       "1GiBx", "1Gi", "1K1",   "18446744073709551616",
                                      "99999999T"};
    struct err err = ERR_INIT;
    uint64_t bytes;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(text_size(view_of(good[i].text), &bytes, &err), ERR_OK);
        assert_true(bytes == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        bytes = 42;
        assert_int_equal(text_size(view_of(bad[i]), &bytes, &err), ERR_CONFIG);
        assert_int_equal(bytes, 42);
    }
}

static void numbers(void **state)
{
    static const char *const bad[] = {
        "", " 1", "1 ", "+1", "-1", "0x10", "1.0", "1e3", "999999999999999999999"};
    struct err err = ERR_INIT;
    uint64_t n = 42;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(text_u64(view_of(bad[i]), 0, UINT64_MAX, &n, &err), ERR_CONFIG);
    assert_int_equal(text_u64(view_of("0"), 1, 64, &n, &err), ERR_CONFIG);
    assert_string_equal(err.msg, "'0' is not in the range: expected 1 to 64");
    assert_int_equal(text_u64(view_of("65"), 1, 64, &n, &err), ERR_CONFIG);
    assert_int_equal(text_u64(view_of("x"), 1, 64, &n, &err), ERR_CONFIG);
    assert_string_equal(err.msg, "'x' is not a whole number: expected 1 to 64");
    assert_int_equal(n, 42);
    assert_int_equal(text_u64(view_of("64"), 1, 64, &n, &err), ERR_OK);
    assert_int_equal(n, 64);
    assert_int_equal(text_u64(view_of("18446744073709551615"), 0, UINT64_MAX, &n, &err), ERR_OK);
    assert_true(n == UINT64_MAX);
}

static void shows_durations_and_sizes(void **state)
{
    char out[TEXT_SHORT_MAX];

    (void)state;
    assert_string_equal(text_show_duration(0, out), "0 ms");
    assert_string_equal(text_show_duration(999, out), "999 ms");
    assert_string_equal(text_show_duration(1234, out), "1.2 s");
    assert_string_equal(text_show_duration(59999, out), "59.9 s");
    assert_string_equal(text_show_duration(184000, out), "3 min 04 s");
    assert_string_equal(text_show_duration(7500000, out), "2 h 05 min");
    assert_string_equal(text_show_duration(90000000, out), "1 d 01 h");
    (void)text_show_duration(UINT64_MAX, out);
    assert_string_equal(text_show_size(512, out), "512 B");
    assert_string_equal(text_show_size(1023, out), "1023 B");
    assert_string_equal(text_show_size(1434, out), "1.4 KiB");
    assert_string_equal(text_show_size(209715200, out), "200 MiB");
    assert_string_equal(text_show_size(UINT64_MAX, out), "15 EiB");
}

static void nearest_words(void **state)
{
    static const char *const words[] = {"steps", "pool", "project", "branches", "priority", "env"};
    static const char *const ties[] = {"aab", "aac"};
    size_t n = sizeof words / sizeof words[0];
    char lots[200];

    (void)state;
    assert_string_equal(text_nearest(view_of("stpes"), words, n), "steps");
    assert_string_equal(text_nearest(view_of("step"), words, n), "steps");
    assert_string_equal(text_nearest(view_of("brnachse"), words, n), "branches");
    assert_string_equal(text_nearest(view_of("prority"), words, n), "priority");
    assert_string_equal(text_nearest(view_of("en"), words, n), "env");
    assert_string_equal(text_nearest(view_of("pooject"), words, n), "project");
    assert_string_equal(text_nearest(view_of("aaa"), ties, 2), "aab");
    assert_null(text_nearest(view_of("stepping"), words, n));
    assert_null(text_nearest(view_of("zzz"), words, n));
    assert_null(text_nearest(view_of(""), words, n));
    assert_null(text_nearest(view_of("steps"), words, 0));
    memset(lots, 's', sizeof lots);
    assert_null(text_nearest(view_bytes(lots, sizeof lots), words, n));
}

static void shell_words(void **state)
{
    static const char *const pairs[][2] = {
        {"make", "make"}, {"-j2", "-j2"},         {"a=b/c:d,e", "a=b/c:d,e"}, {"", "''"},
        {"a b", "'a b'"}, {"it's", "'it'\\''s'"}, {"$HOME", "'$HOME'"},       {"*", "'*'"},
        {"~", "'~'"},     {"a\nb", "'a\nb'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        struct str s = STR_INIT(100);

        text_shell_word(&s, pairs[i][0]);
        assert_string_equal(str_cstr(&s), pairs[i][1]);
        str_release(&s);
    }
}

static void assert_escaped(struct view bytes, size_t most, const char *expected)
{
    struct str s = STR_INIT(1000);

    text_escape(&s, bytes, most);
    assert_string_equal(str_cstr(&s), expected);
    str_release(&s);
}

static void escapes_what_is_not_text(void **state)
{
    (void)state;
    assert_escaped(view_of("plain 'text' \\ ~"), 100, "plain 'text' \\ ~");
    assert_escaped(view_bytes("a\0\n\x1b[31m\x7f", 9), 100, "a\\x00\\x0a\\x1b[31m\\x7f");
    assert_escaped(view_of("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"), 100,
                   "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
    assert_escaped(view_of("\xff\xc3(\xed\xa0\x80"), 100, "\\xff\\xc3(\\xed\\xa0\\x80");
    /* C1 controls, line separator, right-to-left override. */
    assert_escaped(view_of("\xc2\x9b\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6"), 100,
                   "\\xc2\\x9b\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x81\\xa6");
    assert_escaped(view_of("abcdef"), 3, "abc");
    assert_escaped(view_of("ab\xe2\x82\xac"), 4, "ab");
    assert_escaped(VIEW_NULL, 10, "");
}

static size_t utf8_len(const char *bytes)
{
    return text_utf8_len((const unsigned char *)bytes, strlen(bytes));
}

static void utf8_lengths(void **state)
{
    (void)state;
    assert_int_equal(text_utf8_len((const unsigned char *)"", 0), 0);
    assert_int_equal(text_utf8_len((const unsigned char *)"", 1), 1);
    assert_int_equal(utf8_len("a"), 1);
    assert_int_equal(utf8_len("\x7f"), 1);
    assert_int_equal(utf8_len("\xc2\x80"), 2);
    assert_int_equal(utf8_len("\xdf\xbf"), 2);
    assert_int_equal(utf8_len("\xe0\xa0\x80"), 3);
    assert_int_equal(utf8_len("\xed\x9f\xbf"), 3);
    assert_int_equal(utf8_len("\xee\x80\x80"), 3);
    assert_int_equal(utf8_len("\xf0\x90\x80\x80"), 4);
    assert_int_equal(utf8_len("\xf4\x8f\xbf\xbf"), 4);
}

static void utf8_refusals(void **state)
{
    (void)state;
    assert_int_equal(utf8_len("\x80"), 0);
    assert_int_equal(utf8_len("\xc0\x80"), 0);
    assert_int_equal(utf8_len("\xc1\xbf"), 0);
    assert_int_equal(utf8_len("\xc3"), 0);
    assert_int_equal(utf8_len("\xc3\x28"), 0);
    assert_int_equal(utf8_len("\xe0\x9f\xbf"), 0);
    assert_int_equal(utf8_len("\xed\xa0\x80"), 0);
    assert_int_equal(utf8_len("\xe2\x82"), 0);
    assert_int_equal(utf8_len("\xe2\x82\x28"), 0);
    assert_int_equal(utf8_len("\xf0\x8f\xbf\xbf"), 0);
    assert_int_equal(utf8_len("\xf4\x90\x80\x80"), 0);
    assert_int_equal(utf8_len("\xf5\x80\x80\x80"), 0);
    assert_int_equal(utf8_len("\xf0\x90\x80"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(numbers),
        cmocka_unit_test(shows_durations_and_sizes),
        cmocka_unit_test(nearest_words),
        cmocka_unit_test(shell_words),
        cmocka_unit_test(escapes_what_is_not_text),
        cmocka_unit_test(utf8_lengths),
        cmocka_unit_test(utf8_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
