#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/str.h"

static void views_compare(void **state)
{
    struct view with_nul = view_bytes("a\0b", 3);
    char *copy;

    (void)state;
    assert_true(view_is(view_of("abc"), "abc"));
    assert_false(view_is(view_of("abc"), "abcd"));
    assert_false(view_is(with_nul, "a"));
    assert_true(view_is(VIEW_NULL, ""));
    assert_int_equal(view_of(NULL).n, 0);
    assert_true(view_equal(VIEW_NULL, view_of("")));
    assert_false(view_equal(view_of("ab"), view_of("ac")));
    assert_true(view_starts(view_of("refs/heads/x"), "refs/"));
    assert_true(view_starts(view_of("x"), ""));
    assert_false(view_starts(view_of("ref"), "refs"));
    copy = view_dup(with_nul);
    assert_memory_equal(copy, "a\0b\0", 4);
    free(copy);
    copy = view_dup(VIEW_NULL);
    assert_string_equal(copy, "");
    free(copy);
}

static void appends_up_to_the_maximum(void **state)
{
    struct str s = STR_INIT(10);
    struct err err = ERR_INIT;

    (void)state;
    assert_string_equal(str_cstr(&s), "");
    assert_int_equal(str_append(&s, "0123456", 7, &err), ERR_OK);
    assert_int_equal(str_append(&s, "789a", 4, &err), ERR_LIMIT);
    assert_string_equal(str_cstr(&s), "0123456");
    assert_int_equal(str_append(&s, "789", 3, &err), ERR_OK);
    assert_int_equal(str_append(&s, "", 0, &err), ERR_OK);
    assert_int_equal(str_append(&s, "x", 1, &err), ERR_LIMIT);
    assert_string_equal(str_cstr(&s), "0123456789");
    assert_int_equal(str_append(&s, "x", SIZE_MAX, &err), ERR_LIMIT);
    str_release(&s);
    assert_string_equal(str_cstr(&s), "");
}

static void room_is_written_in_place(void **state)
{
    struct str s = STR_INIT(1000);
    char *room;

    (void)state;
    str_put(&s, "ab");
    room = str_room(&s, 900);
    assert_non_null(room);
    memset(room, 'x', 900);
    str_grew(&s, 3);
    assert_string_equal(str_cstr(&s), "abxxx");
    assert_null(str_room(&s, 996));
    assert_non_null(str_room(&s, 995));
    str_release(&s);
}

static void consumes_from_the_front(void **state)
{
    struct str s = STR_INIT(100);

    (void)state;
    str_consume(&s, 0);
    str_put(&s, "abcdef");
    str_consume(&s, 2);
    assert_string_equal(str_cstr(&s), "cdef");
    str_consume(&s, 4);
    assert_int_equal(s.n, 0);
    assert_string_equal(str_cstr(&s), "");
    str_release(&s);
}

static void prints_short_and_long(void **state)
{
    struct str s = STR_INIT(10000);
    char lots[1000];

    (void)state;
    memset(lots, 'y', sizeof lots - 1);
    lots[sizeof lots - 1] = '\0';
    str_printf(&s, "%d-%s-", 7, "a");
    str_printf(&s, "%s", lots);
    str_putc(&s, '!');
    str_put_view(&s, view_bytes("\0z", 2));
    assert_int_equal(s.n, 4 + 999 + 1 + 2);
    assert_memory_equal(str_cstr(&s), "7-a-yyy", 7);
    assert_memory_equal(str_cstr(&s) + 4 + 999, "!\0z", 4);
    str_clear(&s);
    assert_int_equal(str_view(&s).n, 0);
    assert_string_equal(str_cstr(&s), "");
    str_release(&s);
}

static void detach_gives_the_bytes_away(void **state)
{
    struct str s = STR_INIT(100);
    char *p = str_detach(&s);

    (void)state;
    assert_string_equal(p, "");
    free(p);
    str_put(&s, "mine");
    p = str_detach(&s);
    assert_string_equal(p, "mine");
    assert_int_equal(s.n, 0);
    free(p);
    str_put(&s, "again");
    assert_string_equal(str_cstr(&s), "again");
    str_release(&s);
}

static void put_past(struct str *s, int how)
{
    if (how == 0)
        str_put(s, "12345");
    else if (how == 1)
        str_printf(s, "%0300d", 1);
    else
        str_printf(s, "%s", "12345");
}

static void passing_a_promised_bound_aborts(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        pid_t child = fork();
        int status = 0;

        if (child == 0) {
            const struct rlimit no_core = {0, 0};
            struct str s = STR_INIT(4);

            (void)setrlimit(RLIMIT_CORE, &no_core);
            (void)close(STDERR_FILENO);
            (void)signal(SIGABRT, SIG_DFL);
            put_past(&s, how);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_compare),
        cmocka_unit_test(appends_up_to_the_maximum),
        cmocka_unit_test(room_is_written_in_place),
        cmocka_unit_test(consumes_from_the_front),
        cmocka_unit_test(prints_short_and_long),
        cmocka_unit_test(detach_gives_the_bytes_away),
        cmocka_unit_test(passing_a_promised_bound_aborts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
