/* What a reader does with a log file that is not as the writer left it: a sentence, never a crash,
 * never wrong bytes. */
#include "tests/unit/master/log_blocks.h"

#include <fcntl.h>
#include <unistd.h>

static const struct log_name name = {.build = 5, .attempt = 1, .step = 1};

struct fixture {
    char *data, *path;
    struct log_info info;
    struct log_info after[3]; /* one, two and three blocks */
    struct str file;
};

static const char *const blocks[] = {"first\n", "second\nthird\n", "fourth"};
static const char whole[] = "first\nsecond\nthird\nfourth";

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct log_writer *writer;
    struct cutter *cutter = cutter_new();

    log_set_sink(quiet_sink, NULL);
    f->data = folder_new();
    f->path = log_path(f->data, name);
    writer = log_writer_new(f->data);
    for (size_t i = 0; i < 3; i++) {
        struct msg_log_block block = cutter_cut(cutter, blocks[i], strlen(blocks[i]));

        assert_int_equal(log_writer_append(writer, name, &block, &f->info, NULL), ERR_OK);
        f->after[i] = f->info;
    }
    assert_int_equal(log_writer_sync(writer, NULL), ERR_OK);
    log_writer_free(writer);
    cutter_free(cutter);
    f->file.max = 4096;
    assert_int_equal(fs_read(f->path, &f->file, NULL), ERR_OK);
    assert_int_equal(f->file.n, f->info.stored_bytes);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    str_release(&f->file);
    free(f->path);
    folder_remove(f->data);
    free(f);
    return 0;
}

static void store_file(struct fixture *f, const char *bytes, size_t n)
{
    assert_int_equal(fs_replace(f->path, view_bytes(bytes, n), 0644, NULL), ERR_OK);
}

/* Reads all that can be read; gives how it ended. Whatever comes must be right. */
static enum err_code read_all(struct fixture *f, uint64_t *bytes, struct err *err)
{
    struct log_reader *reader = log_reader_new(f->data);
    struct log_view *view = NULL;
    enum err_code rc, line_rc, gzip_rc;
    uint64_t offset = 0, at = 0;
    char out[7];
    size_t got = 0;

    rc = log_view_open(reader, name, &f->info, &view, err);
    if (rc == ERR_OK) {
        do {
            rc = log_view_read(view, offset, out, sizeof out, &got, err);
            if (rc)
                break;
            assert_true(offset + got <= sizeof whole - 1);
            assert_memory_equal(out, whole + offset, got);
            offset += got;
        } while (got > 0);
        line_rc = log_view_line_offset(view, 4, &at, NULL);
        assert_true(line_rc == ERR_OK || line_rc == ERR_IO);
        do {
            gzip_rc = log_view_gzip_read(view, at, out, sizeof out, &got, NULL);
            at += gzip_rc ? 0 : got;
        } while (gzip_rc == ERR_OK && got > 0);
        log_view_close(view);
    }
    *bytes = offset;
    log_reader_free(reader);
    return rc;
}

static void test_whole(void **state)
{
    uint64_t bytes;

    assert_int_equal(read_all(*state, &bytes, NULL), ERR_OK);
    assert_int_equal(bytes, sizeof whole - 1);
}

static void test_cut_at_every_byte(void **state)
{
    struct fixture *f = *state;

    for (size_t n = 0; n < f->file.n; n++) {
        struct err err = ERR_INIT;
        uint64_t bytes;

        store_file(f, f->file.p, n);
        assert_int_equal(read_all(f, &bytes, &err), ERR_IO);
        assert_true(strlen(err.msg) > 0);
        if (n >= f->after[1].stored_bytes)
            assert_int_equal(bytes, f->after[1].bytes);
        else if (n >= f->after[0].stored_bytes)
            assert_int_equal(bytes, f->after[0].bytes);
        else
            assert_int_equal(bytes, 0);
    }
}

static void test_every_bit_wrong(void **state)
{
    struct fixture *f = *state;

    for (size_t bit = 0; bit < f->file.n * 8; bit++) {
        struct err err = ERR_INIT;
        uint64_t bytes;
        enum err_code rc;

        f->file.p[bit / 8] ^= (char)(1u << (bit % 8));
        store_file(f, f->file.p, f->file.n);
        rc = read_all(f, &bytes, &err);
        f->file.p[bit / 8] ^= (char)(1u << (bit % 8));
        /* A bit of the data that changes nothing of what is inflated does no harm. */
        assert_true(rc == ERR_IO || (rc == ERR_OK && bytes == sizeof whole - 1));
    }
}

static void test_file_gone(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    uint64_t bytes;

    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(read_all(f, &bytes, &err), ERR_IO);
    assert_non_null(strstr(err.msg, "gone"));
}

static void test_database_disagrees(void **state)
{
    struct fixture *f = *state;
    struct log_info right = f->info;
    uint64_t bytes;

    f->info.bytes++;
    assert_int_equal(read_all(f, &bytes, NULL), ERR_IO);
    f->info = right;
    f->info.stored_bytes--;
    assert_int_equal(read_all(f, &bytes, NULL), ERR_IO);
    f->info = right;
    f->info.stored_bytes += 100; /* every byte that was counted is there */
    assert_int_equal(read_all(f, &bytes, NULL), ERR_OK);
    assert_int_equal(bytes, sizeof whole - 1);
}

static void test_gzip_of_a_damaged_log_has_no_end(void **state)
{
    struct fixture *f = *state;
    struct log_reader *reader = log_reader_new(f->data);
    struct log_view *view = NULL;
    uint64_t offset = 0;
    char out[64];
    size_t got = 1;
    enum err_code rc = ERR_OK;

    store_file(f, f->file.p, f->file.n - 1);
    assert_int_equal(log_view_open(reader, name, &f->info, &view, NULL), ERR_OK);
    while (rc == ERR_OK && got > 0) {
        rc = log_view_gzip_read(view, offset, out, sizeof out, &got, NULL);
        offset += rc ? 0 : got;
    }
    assert_int_equal(rc, ERR_IO);
    log_view_close(view);
    log_reader_free(reader);
}

/* Appending to a log whose file was lost keeps the build going; what is lost stays lost. */
static void test_append_after_loss(void **state)
{
    struct fixture *f = *state;
    struct log_writer *writer = log_writer_new(f->data);
    struct cutter *cutter = cutter_new();
    struct msg_log_block block;
    struct err err = ERR_INIT;
    uint64_t bytes;

    store_file(f, f->file.p, (size_t)f->after[0].stored_bytes);
    cutter->offset = f->info.bytes;
    block = cutter_cut(cutter, "fifth\n", 6);
    assert_int_equal(log_writer_append(writer, name, &block, &f->info, &err), ERR_OK);
    assert_int_equal(log_writer_sync(writer, NULL), ERR_OK);
    assert_int_equal(read_all(f, &bytes, &err), ERR_IO);
    assert_int_equal(bytes, f->after[0].bytes);
    assert_non_null(strstr(err.msg, "damaged at byte 6"));
    log_writer_free(writer);
    cutter_free(cutter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut_at_every_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_bit_wrong, setup, teardown),
        cmocka_unit_test_setup_teardown(test_file_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_database_disagrees, setup, teardown),
        cmocka_unit_test_setup_teardown(test_gzip_of_a_damaged_log_has_no_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_append_after_loss, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
