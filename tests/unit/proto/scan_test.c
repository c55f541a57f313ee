#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "proto/scan.h"

/* In memory that ends where the value does, so that a read past it is seen. */
static enum err_code scan_copy(const char *p, size_t n, struct err *err)
{
    char *copy = xmemdup(p, n);
    enum err_code rc = scan_value(view_bytes(copy, n), err);

    free(copy);
    return rc;
}

#define GOOD(text) assert_int_equal(scan_copy(text, sizeof(text) - 1, NULL), ERR_OK)
#define BAD(text, sentence)                                                                        \
    do {                                                                                           \
        struct err err = ERR_INIT;                                                                 \
        assert_int_equal(scan_copy(text, sizeof(text) - 1, &err), ERR_PROTO);                      \
        assert_string_equal(err.msg, sentence);                                                    \
    } while (0)

static void values_that_are_whole(void **state)
{
    (void)state;
    GOOD("\x00");
    GOOD("\x7f");
    GOOD("\xff");
    GOOD("\xc0");
    GOOD("\xc2");
    GOOD("\xcc\x01");
    GOOD("\xcd\x01\x02");
    GOOD("\xce\x01\x02\x03\x04");
    GOOD("\xcf\x01\x02\x03\x04\x05\x06\x07\x08");
    GOOD("\xd0\x01");
    GOOD("\xd3\x01\x02\x03\x04\x05\x06\x07\x08");
    GOOD("\xca\x01\x02\x03\x04");
    GOOD("\xcb\x01\x02\x03\x04\x05\x06\x07\x08");
    GOOD("\xa0");
    GOOD("\xa3"
         "abc");
    GOOD("\xd9\x01"
         "a");
    GOOD("\xda\x00\x01"
         "a");
    GOOD("\xdb\x00\x00\x00\x01"
         "a");
    GOOD("\xc4\x00");
    GOOD("\xc6\x00\x00\x00\x01"
         "a");
    GOOD("\x90");
    GOOD("\x93\x01\x91\x02\x03");
    GOOD("\xdc\x00\x01\x01");
    GOOD("\xdd\x00\x00\x00\x01\x01");
}

static void values_cut_off(void **state)
{
    (void)state;
    BAD("", "offset 0: the value does not end within its 0 bytes");
    BAD("\xcd\x01", "offset 0: the value does not end within its 2 bytes");
    BAD("\xa3"
        "ab",
        "offset 0: the value does not end within its 3 bytes");
    BAD("\xd9", "offset 0: the value does not end within its 1 bytes");
    BAD("\xc6\xff\xff\xff\xff", "offset 0: the value does not end within its 5 bytes");
    BAD("\x92\x01", "offset 0: an array of 2 elements in 1 bytes");
    BAD("\x92\x91\x01", "offset 3: the value does not end within its 3 bytes");
}

static void counts_that_lie(void **state)
{
    (void)state;
    BAD("\xdd\x04\x00\x00\x00", "offset 0: an array of 67108864 elements in 0 bytes");
    BAD("\xdd\xff\xff\xff\xff\x01", "offset 0: an array of 4294967295 elements in 1 bytes");
    BAD("\x91\xdc\x00\x02\x01", "offset 1: an array of 2 elements in 1 bytes");
}

static void kinds_that_are_not_ours(void **state)
{
    (void)state;
    BAD("\x80", "offset 0: byte 0x80 begins nothing that is allowed");
    BAD("\x91\xc1", "offset 1: byte 0xc1 begins nothing that is allowed");
    BAD("\xc7\x01\x01\x01", "offset 0: byte 0xc7 begins nothing that is allowed");
    BAD("\xd4\x01\x01", "offset 0: byte 0xd4 begins nothing that is allowed");
    BAD("\xd8\x01", "offset 0: byte 0xd8 begins nothing that is allowed");
    BAD("\xde\x00\x00", "offset 0: byte 0xde begins nothing that is allowed");
    BAD("\xdf\x00\x00\x00\x00", "offset 0: byte 0xdf begins nothing that is allowed");
}

static void bytes_behind(void **state)
{
    (void)state;
    BAD("\x01\x02", "offset 1: 1 bytes behind the value's end");
    BAD("\x91\x01\xc0\xc0", "offset 2: 2 bytes behind the value's end");
}

static void depth(void **state)
{
    char bytes[SCAN_MAX_DEPTH + 2];
    struct err err = ERR_INIT;

    (void)state;
    memset(bytes, 0x91, sizeof bytes);
    bytes[SCAN_MAX_DEPTH] = 0x01;
    assert_int_equal(scan_copy(bytes, SCAN_MAX_DEPTH + 1, NULL), ERR_OK);
    bytes[SCAN_MAX_DEPTH] = (char)0x91;
    bytes[SCAN_MAX_DEPTH + 1] = 0x01;
    assert_int_equal(scan_copy(bytes, SCAN_MAX_DEPTH + 2, &err), ERR_PROTO);
    assert_string_equal(err.msg, "offset 16: deeper than 16 arrays");
}

/* An array of n ones. */
static enum err_code scan_ones(size_t n, struct err *err)
{
    char *bytes = xmalloc(n + 5);
    enum err_code rc;

    memset(bytes, 0x01, n + 5);
    bytes[0] = (char)0xdd;
    for (int i = 0; i < 4; i++)
        bytes[1 + i] = (char)(unsigned char)(n >> (8 * (3 - i)));
    rc = scan_copy(bytes, n + 5, err);
    free(bytes);
    return rc;
}

static void number_of_values(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(scan_ones(SCAN_MAX_OBJECTS - 1, NULL), ERR_OK);
    assert_int_equal(scan_ones(SCAN_MAX_OBJECTS, &err), ERR_PROTO);
    assert_non_null(strstr(err.msg, "more than 65536 values"));
}

/* Every first byte, alone: an answer, never a read past the end. */
static void every_first_byte(void **state)
{
    (void)state;
    for (int b = 0; b < 256; b++) {
        char byte = (char)(unsigned char)b;
        enum err_code rc = scan_copy(&byte, 1, NULL);
        bool whole =
            b < 0x80 || b >= 0xe0 || b == 0x90 || b == 0xa0 || b == 0xc0 || b == 0xc2 || b == 0xc3;

        assert_int_equal(rc, whole ? ERR_OK : ERR_PROTO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_are_whole), cmocka_unit_test(values_cut_off),
        cmocka_unit_test(counts_that_lie),       cmocka_unit_test(kinds_that_are_not_ours),
        cmocka_unit_test(bytes_behind),          cmocka_unit_test(depth),
        cmocka_unit_test(number_of_values),      cmocka_unit_test(every_first_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
