#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proto/frame.h"

/* Frames of the given body lengths, each filled with its own letter. */
static struct str make_frames(const size_t *lengths, size_t n)
{
    struct str out = STR_INIT(8 << 20);

    for (size_t i = 0; i < n; i++) {
        size_t begin;

        assert_int_equal(frame_begin(&out, &begin, NULL), ERR_OK);
        for (size_t k = 0; k < lengths[i]; k++)
            str_putc(&out, (char)('a' + i));
        frame_end(&out, begin);
    }
    return out;
}

static void check_body(struct view body, size_t length, char letter)
{
    assert_int_equal(body.n, length);
    for (size_t k = 0; k < length; k++)
        assert_int_equal(body.p[k], letter);
}

static void header_is_big_endian(void **state)
{
    size_t length = 0x010203;
    struct str out = make_frames(&length, 1);

    (void)state;
    assert_memory_equal(out.p, "\0\1\2\3", 4);
    assert_int_equal(frame_bytes(str_view(&out)), 0x010203 + 4);
    str_release(&out);
}

static void whole_frames_are_given_in_place(void **state)
{
    const size_t lengths[] = {1, 300, 7};
    struct str in = make_frames(lengths, 3);
    struct view rest = str_view(&in);
    struct frame_reader reader;
    struct view body;

    (void)state;
    frame_reader_init(&reader, 1000);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(frame_next(&reader, &rest, &body, NULL), ERR_OK);
        check_body(body, lengths[i], (char)('a' + i));
        assert_true(body.p > in.p && body.p < in.p + in.n);
    }
    assert_int_equal(frame_next(&reader, &rest, &body, NULL), ERR_AGAIN);
    assert_null(reader.partial.p);
    frame_reader_release(&reader);
    str_release(&in);
}

/* Pieces of every size from 1 to more than all of it give the same frames. */
static void pieces_of_any_size(void **state)
{
    const size_t lengths[] = {1, 40, 2, 3, 129, 1};
    struct str in = make_frames(lengths, 6);

    (void)state;
    for (size_t piece = 1; piece <= in.n + 1; piece++) {
        struct frame_reader reader;
        size_t got = 0;

        frame_reader_init(&reader, 1000);
        for (size_t at = 0; at < in.n; at += piece) {
            struct view bytes = view_bytes(in.p + at, in.n - at < piece ? in.n - at : piece);
            struct view body;

            while (frame_next(&reader, &bytes, &body, NULL) == ERR_OK) {
                check_body(body, lengths[got], (char)('a' + got));
                got++;
            }
            assert_int_equal(bytes.n, 0);
        }
        assert_int_equal(got, 6);
        assert_null(reader.partial.p);
        frame_reader_release(&reader);
    }
    str_release(&in);
}

static void refuse(const char *header, size_t n, size_t max_bytes, const char *sentence)
{
    struct frame_reader reader;
    struct err err = ERR_INIT;
    struct view body = VIEW_NULL;
    enum err_code rc = ERR_AGAIN;

    /* At once, and byte by byte. */
    for (int bytewise = 0; bytewise <= 1; bytewise++) {
        size_t piece = bytewise ? 1 : n;

        frame_reader_init(&reader, max_bytes);
        for (size_t at = 0; at < n; at += piece) {
            struct view bytes = view_bytes(header + at, piece);

            rc = frame_next(&reader, &bytes, &body, &err);
        }
        assert_int_equal(rc, ERR_PROTO);
        assert_string_equal(err.msg, sentence);
        assert_null(body.p);
        assert_true(reader.partial.cap <= 64);
        frame_reader_release(&reader);
    }
}

static void bad_lengths(void **state)
{
    (void)state;
    refuse("\0\0\0\0", 4, 1000, "a frame of length 0");
    refuse("\0\0\3\351", 4, 1000, "a frame of 1001 bytes, at most 1000");
    refuse("\377\377\377\377", 4, FRAME_MAX_BYTES, "a frame of 4294967295 bytes, at most 1048576");
}

static void largest_frame(void **state)
{
    const size_t lengths[] = {1000, 1001};
    struct str in = make_frames(lengths, 2);
    struct view rest = str_view(&in);
    struct frame_reader reader;
    struct view body;

    (void)state;
    frame_reader_init(&reader, 1000);
    assert_int_equal(frame_next(&reader, &rest, &body, NULL), ERR_OK);
    reader.max_bytes = 1001; /* the handshake is over: from the next frame on */
    assert_int_equal(frame_next(&reader, &rest, &body, NULL), ERR_OK);
    check_body(body, 1001, 'b');
    frame_reader_release(&reader);
    str_release(&in);
}

/* A header that promises a lot costs what came, not what it promises. */
static void promises_cost_nothing(void **state)
{
    struct frame_reader reader;
    struct view bytes = view_bytes("\0\17\377\377abc", 7);
    struct view body;

    (void)state;
    frame_reader_init(&reader, FRAME_MAX_BYTES);
    assert_int_equal(frame_next(&reader, &bytes, &body, NULL), ERR_AGAIN);
    assert_true(reader.partial.cap <= 64);
    frame_reader_release(&reader);
}

static void full_output(void **state)
{
    struct str out = STR_INIT(3);
    struct err err = ERR_INIT;
    size_t begin = 99;

    (void)state;
    assert_int_equal(frame_begin(&out, &begin, &err), ERR_LIMIT);
    assert_int_equal(begin, 99);
    assert_int_equal(out.n, 0);
    str_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_big_endian), cmocka_unit_test(whole_frames_are_given_in_place),
        cmocka_unit_test(pieces_of_any_size),   cmocka_unit_test(bad_lengths),
        cmocka_unit_test(largest_frame),        cmocka_unit_test(promises_cost_nothing),
        cmocka_unit_test(full_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
