#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "proto/journal.h"

static void put_record(struct str *file, uint64_t number, struct view body)
{
    uint8_t header[JOURNAL_HEADER_BYTES];

    journal_header(number, body, header);
    str_put_view(file, view_bytes(header, sizeof header));
    str_put_view(file, body);
}

static struct str three_records(void)
{
    struct str file = STR_INIT(1 << 20);

    put_record(&file, 1, view_of("one"));
    put_record(&file, 2, view_bytes("t\0wo", 4));
    put_record(&file, 0x1122334455667788, view_of("x"));
    return file;
}

static void known_bytes(void **state)
{
    uint8_t header[JOURNAL_HEADER_BYTES];

    (void)state;
    journal_header(0x0102030405060708, view_of("123456789"), header);
    assert_memory_equal(header, "\x09\0\0\0", 4);
    assert_memory_equal(header + 4, "\xd8\xbb\x2b\x59", 4);
    assert_memory_equal(header + 8, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
}

static void reading_back(void **state)
{
    struct str file = three_records();
    struct view rest = str_view(&file);
    struct journal_entry entry;

    (void)state;
    assert_int_equal(journal_next(&rest, &entry, NULL), ERR_OK);
    assert_int_equal(entry.number, 1);
    assert_true(view_is(entry.body, "one"));
    assert_int_equal(journal_next(&rest, &entry, NULL), ERR_OK);
    assert_int_equal(entry.number, 2);
    assert_int_equal(entry.body.n, 4);
    assert_int_equal(journal_next(&rest, &entry, NULL), ERR_OK);
    assert_true(entry.number == 0x1122334455667788);
    assert_int_equal(journal_next(&rest, &entry, NULL), ERR_AGAIN);
    assert_int_equal(rest.n, 0);
    str_release(&file);
}

/* A file cut anywhere gives the whole records before the cut, and says that more is to come. */
static void cut_at_every_byte(void **state)
{
    struct str file = three_records();
    size_t begins = 0; /* records that are whole within n bytes */

    (void)state;
    for (size_t n = 0; n < file.n; n++) {
        char *copy = xmemdup(file.p, n);
        struct view rest = view_bytes(copy, n);
        struct journal_entry entry;
        size_t got = 0;
        enum err_code rc;

        while ((rc = journal_next(&rest, &entry, NULL)) == ERR_OK)
            got++;
        assert_int_equal(rc, ERR_AGAIN);
        begins = n >= 16 + 3 + 16 + 4 ? 2 : n >= 16 + 3 ? 1 : 0;
        assert_int_equal(got, begins);
        free(copy);
    }
    str_release(&file);
}

/* No single flipped bit goes unnoticed: a record is read as written or not at all. */
static void flipped_bits(void **state)
{
    struct str file = STR_INIT(1 << 20);

    (void)state;
    put_record(&file, 5, view_of("some body"));
    for (size_t bit = 0; bit < file.n * 8; bit++) {
        struct view rest = str_view(&file);
        struct journal_entry entry;
        struct err err = ERR_INIT;
        enum err_code rc;

        file.p[bit / 8] = (char)(file.p[bit / 8] ^ (1 << (bit % 8)));
        rc = journal_next(&rest, &entry, &err);
        assert_true(rc == ERR_PROTO || (rc == ERR_AGAIN && bit < 32));
        assert_int_equal(rest.n, file.n);
        file.p[bit / 8] = (char)(file.p[bit / 8] ^ (1 << (bit % 8)));
    }
    str_release(&file);
}

static void bad_lengths(void **state)
{
    static const uint8_t too_long[] = {1, 0, 2, 0};
    static const uint8_t longest[] = {0, 0, 2, 0};
    char header[JOURNAL_HEADER_BYTES] = {0};
    struct view rest = view_bytes(header, sizeof header);
    struct journal_entry entry;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(journal_next(&rest, &entry, &err), ERR_PROTO);
    assert_string_equal(err.msg, "a journal record of 0 bytes, 1 to 131072");
    memcpy(header, too_long, sizeof too_long);
    assert_int_equal(journal_next(&rest, &entry, &err), ERR_PROTO);
    assert_string_equal(err.msg, "a journal record of 131073 bytes, 1 to 131072");
    memcpy(header, longest, sizeof longest);
    assert_int_equal(journal_next(&rest, &entry, &err), ERR_AGAIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_bytes),       cmocka_unit_test(reading_back),
        cmocka_unit_test(cut_at_every_byte), cmocka_unit_test(flipped_bits),
        cmocka_unit_test(bad_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
