#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/vec.h"

struct thing {
    int number;
    const char *name;
};

static void pushes_keep_their_order(void **state)
{
    VEC(int) numbers = {NULL, 0, 0};
    const int *it;
    int expected = 0;

    (void)state;
    for (int i = 0; i < 1000; i++)
        vec_push(&numbers, i);
    assert_int_equal(numbers.n, 1000);
    assert_true(numbers.cap >= 1000);
    VEC_FOREACH (&numbers, it)
        assert_int_equal(*it, expected++);
    assert_int_equal(expected, 1000);
    vec_release(&numbers);
    assert_null(numbers.v);
    assert_int_equal(numbers.n, 0);
    VEC_FOREACH (&numbers, it)
        fail();
}

static void added_elements_are_zero(void **state)
{
    VEC(struct thing) things = {NULL, 0, 0};

    (void)state;
    for (int i = 0; i < 100; i++) {
        struct thing *thing = vec_add(&things);

        assert_int_equal(thing->number, 0);
        assert_null(thing->name);
        thing->number = i;
        thing->name = "x";
    }
    assert_int_equal(things.n, 100);
    assert_int_equal(things.v[99].number, 99);
    vec_release(&things);
}

static void reserve_gives_what_is_needed(void **state)
{
    size_t cap = 0;
    char *p = vec_reserve(NULL, &cap, 1, 1);

    (void)state;
    assert_int_equal(cap, 8);
    p = vec_reserve(p, &cap, 9, 1);
    assert_int_equal(cap, 16);
    p = vec_reserve(p, &cap, 1000, 1);
    assert_int_equal(cap, 1000);
    p[999] = 'x';
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushes_keep_their_order),
        cmocka_unit_test(added_elements_are_zero),
        cmocka_unit_test(reserve_gives_what_is_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
