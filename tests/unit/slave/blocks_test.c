#include "slave/blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "common/base/mem.h"
#include "common/base/vec.h"
#include "tests/support/fake_clock.h"

struct kept {
    struct msg_log_block head;
    unsigned char *data;
};

struct fixture {
    struct fake_clock clock;
    struct loop loop;
    struct blocks *blocks;
    VEC(struct kept) kept;
    size_t room; /* how many more blocks are taken */
    unsigned refusals;
};

static bool on_block(void *owner, const struct msg *msg)
{
    struct fixture *f = owner;
    struct kept kept = {.head = msg->u.log_block};

    assert_int_equal(msg->type, REC_LOG_BLOCK);
    if (f->room == 0) {
        f->refusals++;
        return false;
    }
    f->room--;
    kept.data = xmemdup(kept.head.data.p, kept.head.data.n);
    vec_push(&f->kept, kept);
    return true;
}

static struct fixture *open_limited(uint64_t limit_bytes)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct err err = ERR_INIT;

    fake_clock_init(&f->clock, 5000, 1005000);
    f->room = SIZE_MAX;
    assert_int_equal(loop_init(&f->loop, &f->clock.clock, &err), ERR_OK);
    f->blocks = blocks_new(&f->loop, 3, 1, limit_bytes, on_block, f);
    return f;
}

static void close_fixture(struct fixture *f)
{
    size_t i;

    blocks_free(f->blocks);
    for (i = 0; i < f->kept.n; i++)
        free(f->kept.v[i].data);
    vec_release(&f->kept);
    loop_release(&f->loop);
    free(f);
}

/* Inflates n bytes of raw deflate, which must give exactly `size` bytes; appends them to out. */
static void inflate_into(z_stream *z, const unsigned char *data, size_t n, char *out, size_t size)
{
    int rc;

    z->next_in = (unsigned char *)data;
    z->avail_in = (uInt)n;
    z->next_out = (unsigned char *)out;
    z->avail_out = (uInt)size;
    rc = inflate(z, Z_SYNC_FLUSH);
    assert_true(rc == Z_OK || rc == Z_BUF_ERROR);
    assert_int_equal(z->avail_in, 0);
    assert_int_equal(z->avail_out, 0);
}

/* Checks every block alone and all of them as one stream, and returns the log. */
static char *whole_log(const struct fixture *f, size_t *n)
{
    z_stream together = {0};
    char *alone = NULL;
    char *joined = NULL;
    size_t i;

    *n = 0;
    assert_int_equal(inflateInit2(&together, -MAX_WBITS), Z_OK);
    for (i = 0; i < f->kept.n; i++) {
        const struct msg_log_block *head = &f->kept.v[i].head;
        z_stream z = {0};
        uint32_t lines = 0;
        uint32_t at;

        assert_int_equal(head->step, 3);
        assert_int_equal(head->stream, 1);
        assert_int_equal(head->offset, *n);
        assert_in_range(head->size, 1, BLOCKS_CUT_BYTES);
        assert_true(head->data.n <= BLOCKS_DATA_BYTES);
        alone = xrealloc(alone, *n + head->size);
        joined = xrealloc(joined, *n + head->size);
        assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
        inflate_into(&z, f->kept.v[i].data, head->data.n, alone + *n, head->size);
        (void)inflateEnd(&z);
        inflate_into(&together, f->kept.v[i].data, head->data.n, joined + *n, head->size);
        assert_int_equal(head->crc, crc32(0, (unsigned char *)alone + *n, head->size));
        for (at = 0; at < head->size; at++)
            lines += alone[*n + at] == '\n';
        assert_int_equal(head->lines, lines);
        *n += head->size;
    }
    (void)inflateEnd(&together);
    if (*n > 0)
        assert_memory_equal(alone, joined, *n);
    free(joined);
    return alone;
}

static void assert_log(const struct fixture *f, const char *want, size_t want_n)
{
    size_t n;
    char *log = whole_log(f, &n);

    assert_int_equal(n, want_n);
    if (n > 0)
        assert_memory_equal(log, want, n);
    free(log);
}

/* Bytes that do not compress, NULs and all that is no UTF-8 among them. */
static char *noise(size_t n)
{
    char *p = xmalloc(n);
    uint64_t x = 88172645463325252ULL;
    size_t i;

    for (i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        p[i] = (char)(x >> 24);
    }
    return p;
}

static void test_any_bytes_come_back(void **state)
{
    static const size_t pieces[] = {1, 65535, 65536, 65537, 7, 200000, 131072, 3};
    struct fixture *f = open_limited(0);
    size_t total = 0;
    size_t i;
    char *bytes;

    (void)state;
    for (i = 0; i < sizeof pieces / sizeof *pieces; i++)
        total += pieces[i];
    bytes = noise(total);
    total = 0;
    for (i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        assert_true(blocks_add(f->blocks, view_bytes(bytes + total, pieces[i])));
        total += pieces[i];
    }
    assert_true(blocks_finish(f->blocks));
    assert_true(blocks_finish(f->blocks));
    assert_int_equal(blocks_total(f->blocks), total);
    assert_log(f, bytes, total);
    /* Cut where they are full, nowhere else. */
    assert_int_equal(f->kept.n, (total + BLOCKS_CUT_BYTES - 1) / BLOCKS_CUT_BYTES);
    free(bytes);
    close_fixture(f);
}

static void test_a_flood_without_newlines_becomes_small(void **state)
{
    struct fixture *f = open_limited(0);
    char *xs = xmalloc(65536);
    size_t stored = 0;
    size_t i;

    (void)state;
    memset(xs, 'x', 65536);
    for (i = 0; i < 64; i++)
        assert_true(blocks_add(f->blocks, view_bytes(xs, 65536)));
    assert_true(blocks_finish(f->blocks));
    assert_int_equal(f->kept.n, 64);
    for (i = 0; i < f->kept.n; i++) {
        assert_int_equal(f->kept.v[i].head.lines, 0);
        stored += f->kept.v[i].head.data.n;
    }
    assert_true(stored < 64 * 1024);
    free(xs);
    close_fixture(f);
}

static void test_nothing_gives_no_block(void **state)
{
    struct fixture *f = open_limited(0);

    (void)state;
    assert_true(blocks_add(f->blocks, view_of("")));
    assert_true(blocks_finish(f->blocks));
    assert_int_equal(f->kept.n, 0);
    close_fixture(f);
}

static void test_a_little_is_cut_after_its_time(void **state)
{
    struct fixture *f = open_limited(0);

    (void)state;
    (void)blocks_add(f->blocks, view_of("one\n"));
    fake_clock_advance(&f->clock, BLOCKS_CUT_MS - 1);
    (void)blocks_add(f->blocks, view_of("two\n"));
    loop_run_once(&f->loop, false);
    assert_int_equal(f->kept.n, 0);
    fake_clock_advance(&f->clock, 1);
    loop_run_once(&f->loop, false);
    assert_int_equal(f->kept.n, 1);
    assert_int_equal(f->kept.v[0].head.time_ms, 1005000);
    assert_int_equal(f->kept.v[0].head.lines, 2);
    assert_log(f, "one\ntwo\n", 8);
    /* Its time begins with the next byte. */
    fake_clock_advance(&f->clock, 1000);
    loop_run_once(&f->loop, false);
    (void)blocks_add(f->blocks, view_of("x"));
    loop_run_once(&f->loop, false);
    assert_int_equal(f->kept.n, 1);
    blocks_cut(f->blocks);
    blocks_cut(f->blocks);
    assert_int_equal(f->kept.n, 2);
    close_fixture(f);
}

static void test_what_is_refused_is_kept_in_order(void **state)
{
    struct fixture *f = open_limited(0);
    size_t n = 5 * BLOCKS_CUT_BYTES + 17;
    char *bytes = noise(n);
    size_t at = 0;

    (void)state;
    f->room = 1;
    assert_true(blocks_add(f->blocks, view_bytes(bytes, BLOCKS_CUT_BYTES)));
    at = BLOCKS_CUT_BYTES;
    assert_false(blocks_add(f->blocks, view_bytes(bytes + at, 3 * BLOCKS_CUT_BYTES)));
    at += 3 * BLOCKS_CUT_BYTES;
    assert_false(blocks_retry(f->blocks));
    assert_false(blocks_add(f->blocks, view_bytes(bytes + at, n - at)));
    f->room = 1;
    assert_false(blocks_retry(f->blocks));
    assert_int_equal(f->kept.n, 2);
    f->room = 2;
    assert_false(blocks_finish(f->blocks));
    assert_int_equal(f->kept.n, 4);
    f->room = 1;
    assert_false(blocks_finish(f->blocks)); /* the last, partial one is refused */
    f->room = 1;
    assert_true(blocks_finish(f->blocks));
    assert_int_equal(f->kept.n, 6);
    assert_log(f, bytes, n);
    free(bytes);
    close_fixture(f);
}

static void test_the_timer_may_be_refused(void **state)
{
    struct fixture *f = open_limited(0);

    (void)state;
    f->room = 0;
    (void)blocks_add(f->blocks, view_of("abc"));
    fake_clock_advance(&f->clock, BLOCKS_CUT_MS);
    loop_run_once(&f->loop, false);
    assert_int_equal(f->refusals, 1);
    assert_false(blocks_add(f->blocks, view_of("def")));
    f->room = SIZE_MAX;
    assert_true(blocks_retry(f->blocks));
    assert_true(blocks_finish(f->blocks));
    assert_log(f, "abcdef", 6);
    close_fixture(f);
}

static void test_notes_stand_on_lines_of_their_own(void **state)
{
    struct fixture *f = open_limited(0);
    const char want[] = "first\nhalf\nnote\nnext\n";

    (void)state;
    blocks_note(f->blocks, "first");
    (void)blocks_add(f->blocks, view_of("half"));
    blocks_note(f->blocks, "note");
    (void)blocks_add(f->blocks, view_of("next\n"));
    assert_true(blocks_finish(f->blocks));
    assert_log(f, want, strlen(want));
    assert_int_equal(blocks_total(f->blocks), 9);
    close_fixture(f);
}

static void test_a_log_within_its_limit_is_exact(void **state)
{
    enum { LIMIT = 300000 };
    struct fixture *f = open_limited(LIMIT);
    char *bytes = noise(LIMIT);
    size_t at;

    (void)state;
    for (at = 0; at < LIMIT; at += 1000)
        (void)blocks_add(f->blocks, view_bytes(bytes + at, 1000));
    assert_true(blocks_finish(f->blocks));
    assert_log(f, bytes, LIMIT);
    free(bytes);
    close_fixture(f);
}

/* begin, two lines of ours, the last BLOCKS_TAIL_BYTES. */
static void check_cut_log(struct fixture *f, const char *bytes, size_t n, size_t limit)
{
    size_t first = limit - BLOCKS_TAIL_BYTES;
    size_t log_n;
    char *log = whole_log(f, &log_n);
    char left_out[128];
    char *text;
    size_t between;

    assert_true(log_n > limit);
    assert_memory_equal(log, bytes, first);
    assert_memory_equal(log + log_n - BLOCKS_TAIL_BYTES, bytes + n - BLOCKS_TAIL_BYTES,
                        BLOCKS_TAIL_BYTES);
    between = log_n - BLOCKS_TAIL_BYTES - first;
    text = xstrndup(log + first, between);
    (void)snprintf(left_out, sizeof left_out,
                   "tailrace: %zu bytes left out here (log_limit 128 KiB)\n",
                   n - first - BLOCKS_TAIL_BYTES);
    assert_non_null(strstr(text, "\ntailrace: log_limit of 128 KiB reached"));
    assert_non_null(strstr(text, left_out));
    assert_string_equal(strstr(text, left_out), left_out);
    free(text);
    free(log);
}

static void test_over_the_limit_begin_and_end_are_kept(void **state)
{
    enum { LIMIT = 128 * 1024, N = 1000003 };
    static const size_t pieces[] = {1, 999, 65536, 300000};
    char *bytes = noise(N);
    size_t p;

    (void)state;
    bytes[LIMIT - BLOCKS_TAIL_BYTES - 1] = 'x'; /* the begin ends in the middle of a line */
    for (p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        struct fixture *f = open_limited(LIMIT);
        size_t at = 0;

        while (at < N) {
            size_t n = N - at < pieces[p] ? N - at : pieces[p];

            (void)blocks_add(f->blocks, view_bytes(bytes + at, n));
            at += n;
        }
        assert_int_equal(blocks_total(f->blocks), N);
        assert_true(blocks_finish(f->blocks));
        check_cut_log(f, bytes, N, LIMIT);
        close_fixture(f);
    }
    free(bytes);
}

static void test_a_note_after_the_limit_ends_the_log(void **state)
{
    struct fixture *f = open_limited(20);
    const char want[] =
        "0123456789\n"
        "tailrace: log_limit of 20 B reached; of the rest only the last 10 B will be kept\n"
        "tailrace: 6 bytes left out here (log_limit 20 B)\n"
        "klmnopqrst\n"
        "tailrace: over\n";

    (void)state;
    (void)blocks_add(f->blocks, view_of("0123456789ABCDEF"));
    (void)blocks_add(f->blocks, view_of("klmnopqrst"));
    blocks_note(f->blocks, "tailrace: over");
    assert_true(blocks_finish(f->blocks));
    assert_log(f, want, strlen(want));
    close_fixture(f);
}

static void test_tiny_limits(void **state)
{
    uint64_t limit;

    (void)state;
    for (limit = 1; limit < 6; limit++) {
        struct fixture *f = open_limited(limit);
        size_t n;
        char *log;

        (void)blocks_add(f->blocks, view_of("abcdefgh"));
        (void)blocks_add(f->blocks, view_of("ijkl"));
        assert_true(blocks_finish(f->blocks));
        log = whole_log(f, &n);
        assert_int_equal(log[0], 'a');
        if (limit > 1)
            assert_int_equal(log[n - 1], 'l');
        free(log);
        close_fixture(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_bytes_come_back),
        cmocka_unit_test(test_a_flood_without_newlines_becomes_small),
        cmocka_unit_test(test_nothing_gives_no_block),
        cmocka_unit_test(test_a_little_is_cut_after_its_time),
        cmocka_unit_test(test_what_is_refused_is_kept_in_order),
        cmocka_unit_test(test_the_timer_may_be_refused),
        cmocka_unit_test(test_notes_stand_on_lines_of_their_own),
        cmocka_unit_test(test_a_log_within_its_limit_is_exact),
        cmocka_unit_test(test_over_the_limit_begin_and_end_are_kept),
        cmocka_unit_test(test_a_note_after_the_limit_ends_the_log),
        cmocka_unit_test(test_tiny_limits),
    };

    return cmocka_run_group_tests_name("slave/blocks", tests, NULL, NULL);
}
