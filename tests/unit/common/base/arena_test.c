#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdint.h>
#include <string.h>

#include "common/base/arena.h"

static void pieces_are_zero_aligned_and_apart(void **state)
{
    struct arena arena = {NULL};
    unsigned char *pieces[2000];

    (void)state;
    for (size_t i = 0; i < 2000; i++) {
        size_t n = i % 97 == 0 ? 5000 + i * 10 : i % 50;

        pieces[i] = arena_alloc(&arena, n);
        assert_int_equal((uintptr_t)pieces[i] % sizeof(void *), 0);
        for (size_t k = 0; k < n; k++)
            assert_int_equal(pieces[i][k], 0);
        memset(pieces[i], (int)(i % 251) + 1, n);
    }
    for (size_t i = 0; i < 2000; i++) {
        size_t n = i % 97 == 0 ? 5000 + i * 10 : i % 50;

        for (size_t k = 0; k < n; k++)
            assert_int_equal(pieces[i][k], (i % 251) + 1);
    }
    arena_release(&arena);
    assert_null(arena.chunks);
}

static void a_large_piece_comes_first(void **state)
{
    struct arena arena = {NULL};
    char *large = arena_alloc(&arena, 100000);
    char *small = arena_alloc(&arena, 10);

    (void)state;
    large[99999] = 'x';
    small[9] = 'y';
    arena_release(&arena);
    small = arena_alloc(&arena, 10);
    assert_int_equal(small[9], 0);
    arena_release(&arena);
}

static void copies_end_with_nul(void **state)
{
    struct arena arena = {NULL};
    struct view a = arena_copy(&arena, view_bytes("x\0y", 3));
    struct view b = arena_copy(&arena, VIEW_NULL);

    (void)state;
    assert_int_equal(a.n, 3);
    assert_memory_equal(a.p, "x\0y", 4);
    assert_int_equal(b.n, 0);
    assert_string_equal(b.p, "");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zero_aligned_and_apart),
        cmocka_unit_test(a_large_piece_comes_first),
        cmocka_unit_test(copies_end_with_nul),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
