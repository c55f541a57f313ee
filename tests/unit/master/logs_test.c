#include "tests/unit/master/log_blocks.h"

#include <sys/stat.h>
#include <unistd.h>

static const struct log_name name = {.build = 1234, .attempt = 2, .step = 3};

struct fixture {
    char *data, *path;
    struct log_writer *writer;
    struct log_reader *reader;
    struct cutter *cutter;
    struct log_info info;
    struct str whole; /* what the log should hold */
};

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    log_set_sink(quiet_sink, NULL);
    f->data = folder_new();
    f->path = log_path(f->data, name);
    f->writer = log_writer_new(f->data);
    f->reader = log_reader_new(f->data);
    f->cutter = cutter_new();
    f->whole.max = 64 << 20;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    log_writer_free(f->writer);
    log_reader_free(f->reader);
    cutter_free(f->cutter);
    str_release(&f->whole);
    free(f->path);
    folder_remove(f->data);
    free(f);
    return 0;
}

static void add(struct fixture *f, const char *bytes, size_t n)
{
    struct msg_log_block block = cutter_cut(f->cutter, bytes, n);
    struct err err = ERR_INIT;

    if (log_writer_append(f->writer, name, &block, &f->info, &err) != ERR_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(str_append(&f->whole, bytes, n, NULL), ERR_OK);
}

static void add_text(struct fixture *f, const char *text)
{
    add(f, text, strlen(text));
}

static struct log_view *open_view(struct fixture *f)
{
    struct log_view *view = NULL;
    struct err err = ERR_INIT;

    if (log_view_open(f->reader, name, &f->info, &view, &err) != ERR_OK)
        fail_msg("%s", err.msg);
    return view;
}

static void sync_now(struct fixture *f)
{
    assert_int_equal(log_writer_sync(f->writer, NULL), ERR_OK);
}

/* Reads to the end from offset in pieces of n. */
static void check_reads(struct fixture *f, struct log_view *view, uint64_t offset, size_t n)
{
    char *out = xmalloc(n);
    size_t got = 0;

    do {
        assert_int_equal(log_view_read(view, offset, out, n, &got, NULL), ERR_OK);
        assert_true(offset + got <= f->whole.n);
        assert_memory_equal(out, f->whole.p + offset, got);
        offset += got;
    } while (got > 0);
    assert_int_equal(offset, f->whole.n);
    free(out);
}

static void test_path(void **state)
{
    char *path;

    (void)state;
    path = log_path("d", (struct log_name){.build = 1234567, .attempt = 2, .step = 3});
    assert_string_equal(path, "d/logs/1234/1234567/2-3.log");
    free(path);
    path = log_path("d", (struct log_name){.build = 7, .attempt = 1, .step = 12, .stream = 1});
    assert_string_equal(path, "d/logs/0/7/1-12-err.log");
    free(path);
}

static void test_reads_at_every_boundary(void **state)
{
    struct fixture *f = *state;
    struct log_view *view;
    char out[4];
    size_t got;

    add_text(f, "one\ntw");
    add_text(f, "o\n\n");
    add(f, "\0\xff\n", 3);
    add_text(f, "x");
    add_text(f, "no newline at the end");
    sync_now(f);
    view = open_view(f);
    assert_int_equal(log_view_bytes(view), f->whole.n);
    assert_int_equal(log_view_lines(view), 4);
    for (uint64_t offset = 0; offset <= f->whole.n; offset++) {
        for (size_t n = 1; n <= f->whole.n + 1; n++)
            check_reads(f, view, offset, n);
    }
    assert_int_equal(log_view_read(view, f->whole.n + 10, out, 4, &got, NULL), ERR_OK);
    assert_int_equal(got, 0);
    log_view_close(view);
}

static uint64_t line_at(struct log_view *view, uint64_t line)
{
    uint64_t offset = UINT64_MAX;

    assert_int_equal(log_view_line_offset(view, line, &offset, NULL), ERR_OK);
    return offset;
}

static void test_lines(void **state)
{
    struct fixture *f = *state;
    uint64_t line = 1;
    struct log_view *view;

    add_text(f, "one\ntw");
    add_text(f, "o\n\n");
    add_text(f, "no newline here");
    add_text(f, " nor here");
    add_text(f, "\nlast");
    sync_now(f);
    view = open_view(f);
    assert_int_equal(line_at(view, 0), 0);
    assert_int_equal(line_at(view, 1), 0);
    for (size_t i = 0; i < f->whole.n; i++) {
        if (f->whole.p[i] == '\n')
            assert_int_equal(line_at(view, ++line), i + 1);
    }
    assert_int_equal(line, 5);
    assert_int_equal(line_at(view, 6), f->whole.n);
    assert_int_equal(line_at(view, UINT64_MAX), f->whole.n);
    log_view_close(view);
}

/* Many blocks of many sizes, among them one line longer than several blocks. */
static void fill(struct fixture *f, unsigned blocks)
{
    char *bytes = xmalloc(LOGS_BLOCK_MAX);
    uint32_t seed = 7;

    for (unsigned i = 0; i < blocks; i++) {
        size_t n = i % 7 == 3 ? 65536 : 1 + (seed >> 8) % 5000;

        for (size_t k = 0; k < n; k++) {
            seed = seed * 1664525 + 1013904223;
            bytes[k] = i > 20 && i < 30 ? 'x' : (char)("ab\ncd\n\xfe\0 e"[(seed >> 16) % 10]);
        }
        add(f, bytes, n);
    }
    free(bytes);
}

static void test_lines_of_a_large_log(void **state)
{
    struct fixture *f = *state;
    struct log_view *view;
    uint64_t line = 1;

    fill(f, 60);
    sync_now(f);
    view = open_view(f);
    for (size_t i = 0; i < f->whole.n; i++) {
        if (f->whole.p[i] == '\n' && ++line % 97 == 0)
            assert_int_equal(line_at(view, line), i + 1);
    }
    assert_int_equal(log_view_lines(view), line - 1);
    check_reads(f, view, 0, 65536);
    check_reads(f, view, f->whole.n / 3, 777);
    log_view_close(view);
}

static void read_gzip(struct log_view *view, size_t n, struct str *out)
{
    char *piece = xmalloc(n);
    size_t got;

    do {
        assert_int_equal(log_view_gzip_read(view, out->n, piece, n, &got, NULL), ERR_OK);
        assert_int_equal(str_append(out, piece, got, NULL), ERR_OK);
    } while (got > 0);
    assert_int_equal(out->n, log_view_gzip_bytes(view));
    free(piece);
}

/* One member, whose checksum and size zlib verifies, and nothing behind it. */
static void check_gzip(struct fixture *f, struct log_view *view, size_t n)
{
    struct str member = STR_INIT(64 << 20);
    char *plain = xmalloc(f->whole.n + 1);
    z_stream z = {0};

    read_gzip(view, n, &member);
    assert_int_equal(inflateInit2(&z, 16 + MAX_WBITS), Z_OK);
    z.next_in = (Bytef *)member.p;
    z.avail_in = (uInt)member.n;
    z.next_out = (Bytef *)plain;
    z.avail_out = (uInt)f->whole.n + 1;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    assert_int_equal(z.total_out, f->whole.n);
    if (f->whole.n)
        assert_memory_equal(plain, f->whole.p, f->whole.n);
    (void)inflateEnd(&z);
    free(plain);
    str_release(&member);
}

static void test_gzip(void **state)
{
    struct fixture *f = *state;
    struct log_view *view;

    fill(f, 40);
    sync_now(f);
    view = open_view(f);
    check_gzip(f, view, 1 << 20);
    check_gzip(f, view, 1000);
    log_view_close(view);
}

static void test_gzip_byte_by_byte(void **state)
{
    struct fixture *f = *state;
    struct log_view *view;

    add_text(f, "hello\n");
    add_text(f, "world\n");
    sync_now(f);
    view = open_view(f);
    for (size_t n = 1; n < 40; n++)
        check_gzip(f, view, n);
    log_view_close(view);
}

static void test_empty_log_is_a_gzip_member(void **state)
{
    struct fixture *f = *state;
    const struct log_info none = {0};
    struct log_view *view = NULL;

    assert_int_equal(log_view_open(f->reader, name, &none, &view, NULL), ERR_NOTFOUND);
    /* The file is there, its first block not yet counted. */
    add_text(f, "early");
    assert_int_equal(log_view_open(f->reader, name, &none, &view, NULL), ERR_OK);
    str_clear(&f->whole);
    check_gzip(f, view, 7);
    check_reads(f, view, 0, 10);
    assert_int_equal(line_at(view, 1), 0);
    assert_int_equal(line_at(view, 2), 0);
    log_view_close(view);
}

static void test_grows_under_open_views(void **state)
{
    struct fixture *f = *state;
    struct log_view *early, *late;
    size_t got;
    char out[16];

    add_text(f, "first\n");
    sync_now(f);
    early = open_view(f);
    for (unsigned i = 0; i < 100; i++)
        add_text(f, "more\n");
    sync_now(f);
    late = open_view(f);
    check_reads(f, late, 0, 64);
    check_gzip(f, late, 64);
    assert_int_equal(log_view_bytes(early), 6);
    assert_int_equal(log_view_read(early, 0, out, sizeof out, &got, NULL), ERR_OK);
    assert_int_equal(got, 6);
    log_reader_free(f->reader);
    f->reader = log_reader_new(f->data);
    check_reads(f, late, 3, 64);
    str_cut(&f->whole, 6);
    check_gzip(f, early, 64);
    log_view_close(early);
    log_view_close(late);
}

static void test_reader_keeps_few_logs(void **state)
{
    struct fixture *f = *state;
    struct log_view *view;

    for (uint32_t step = 1; step <= 300; step++) {
        struct log_name other = {.build = 1, .attempt = 1, .step = step};
        struct cutter *cutter = cutter_new();
        struct msg_log_block block = cutter_cut(cutter, "abc\n", 4);
        struct log_info info = {0};

        assert_int_equal(log_writer_append(f->writer, other, &block, &info, NULL), ERR_OK);
        assert_int_equal(log_view_open(f->reader, other, &info, &view, NULL), ERR_OK);
        log_view_close(view);
        cutter_free(cutter);
    }
    sync_now(f);
}

static void test_cuts_back_what_the_database_does_not_know(void **state)
{
    struct fixture *f = *state;
    struct log_info known;
    struct log_view *view;
    struct stat st;

    add_text(f, "kept\n");
    known = f->info;
    add_text(f, "lost in a crash, and long enough to be longer than what follows it\n");
    log_writer_free(f->writer);
    f->writer = log_writer_new(f->data);
    f->info = known;
    str_cut(&f->whole, 5);
    f->cutter->offset = 5;
    add_text(f, "again\n");
    sync_now(f);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_size, f->info.stored_bytes);
    view = open_view(f);
    check_reads(f, view, 0, 100);
    check_gzip(f, view, 100);
    log_view_close(view);
}

static void test_rollback_cuts_back(void **state)
{
    struct fixture *f = *state;
    struct log_info known;
    struct log_view *view;

    add_text(f, "kept\n");
    known = f->info;
    add_text(f, "rolled back\n");
    log_writer_rollback(f->writer);
    f->info = known;
    str_cut(&f->whole, 5);
    f->cutter->offset = 5;
    add_text(f, "ok\n");
    sync_now(f);
    view = open_view(f);
    check_reads(f, view, 0, 100);
    log_view_close(view);
}

static void test_refuses_blocks_that_do_not_follow(void **state)
{
    struct fixture *f = *state;
    struct msg_log_block block, bad;
    struct log_info before;

    add_text(f, "abc");
    before = f->info;
    block = cutter_cut(f->cutter, "def\n", 4);
    bad = block;
    bad.offset = 2;
    assert_int_equal(log_writer_append(f->writer, name, &bad, &f->info, NULL), ERR_PROTO);
    bad = block;
    bad.size = 0;
    assert_int_equal(log_writer_append(f->writer, name, &bad, &f->info, NULL), ERR_PROTO);
    bad.size = LOGS_BLOCK_MAX + 1;
    assert_int_equal(log_writer_append(f->writer, name, &bad, &f->info, NULL), ERR_PROTO);
    bad = block;
    bad.lines = 5;
    assert_int_equal(log_writer_append(f->writer, name, &bad, &f->info, NULL), ERR_PROTO);
    bad = block;
    bad.data.n = 0;
    assert_int_equal(log_writer_append(f->writer, name, &bad, &f->info, NULL), ERR_PROTO);
    assert_memory_equal(&before, &f->info, sizeof before);
    assert_int_equal(log_writer_append(f->writer, name, &block, &f->info, NULL), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path),
        cmocka_unit_test_setup_teardown(test_reads_at_every_boundary, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lines_of_a_large_log, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gzip, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gzip_byte_by_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_log_is_a_gzip_member, setup, teardown),
        cmocka_unit_test_setup_teardown(test_grows_under_open_views, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reader_keeps_few_logs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cuts_back_what_the_database_does_not_know, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_rollback_cuts_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refuses_blocks_that_do_not_follow, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
