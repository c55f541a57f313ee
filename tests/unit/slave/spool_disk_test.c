/* The spool and its disk: restarts, cut and damaged files, a disk that takes no more. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "tests/unit/slave/spool_fixture.h"

static void test_reopen_knows_the_state(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    uint64_t bytes;

    append_blocks(f, journal, 70);
    send_all(journal, 1);
    journal_ack(journal, 50); /* the first segments are gone */
    bytes = spool_bytes(f->spool);
    reopen_spool(f);

    assert_int_equal(spool_bytes(f->spool), bytes);
    journal = spool_find(f->spool, 12, 1);
    assert_non_null(journal);
    assert_ptr_equal(spool_first(f->spool), journal);
    assert_null(journal_next_of(journal));
    assert_int_equal(journal_last(journal), 72);
    assert_string_equal(journal_tag(journal), "boot-1");
    assert_int_equal(journal_asked_ms(journal), 77);
    assert_int_equal(journal_fold(journal)->n_steps, 3);
    assert_true(journal_fold(journal)->started);
    assert_int_equal(journal_fold(journal)->steps[0].state, FOLD_STEP_RUNNING);
    assert_int_equal(journal_fold(journal)->steps[0].log_bytes[0], 70 * BLOCK_BYTES);
    assert_int_equal(journal_fold(journal)->steps[1].state, FOLD_STEP_WAITING);

    append_blocks(f, journal, 3);
    finish(journal);
    assert_true(journal_rewind(journal, 50));
    send_all(journal, 51);
}

static void copy_file(const char *from, const char *to, uint64_t bytes)
{
    struct str text = STR_INIT(1 << 20);

    assert_int_equal(fs_read(from, &text, NULL), ERR_OK);
    assert_int_equal(fs_replace(to, view_bytes(text.p, bytes), 0600, NULL), ERR_OK);
    str_release(&text);
}

/* The agent dies while it writes a record: at whatever byte, that record alone is missing. */
static void test_reopen_cuts_the_last_record(void **state)
{
    struct fixture *f = *state;
    struct msg step = {.type = REC_STEP_FINISHED,
                       .u.step_finished = {.step = 1, .result = RESULT_SUCCESS}};
    struct msg end = {.type = REC_ATTEMPT_FINISHED,
                      .u.attempt_finished = {.result = RESULT_SUCCESS}};
    struct journal *journal = begin(f, 12);
    char *path = path_of(f, "12-1/00000000000000000001");
    char *copy = path_of(f, "copy");
    uint64_t before, after, cut;

    append(journal, &step);
    before = file_bytes(path);
    append(journal, &end);
    after = file_bytes(path);
    copy_file(path, copy, after);
    for (cut = before; cut < after; cut++) {
        spool_close(f->spool);
        copy_file(copy, path, cut);
        open_spool(f);
        journal = spool_find(f->spool, 12, 1);
        assert_non_null(journal);
        assert_int_equal(journal_last(journal), 3);
        assert_false(journal_is_complete(journal));
        assert_int_equal(file_bytes(path), before);
        assert_int_equal(spool_bytes(f->spool), before);
        append(journal, &end);
        assert_int_equal(file_bytes(path), after);
        assert_true(journal_rewind(journal, 3));
        check_next(journal, 4);
    }
    reopen_spool(f);
    assert_true(journal_is_complete(spool_find(f->spool, 12, 1)));
    free(path);
    free(copy);
}

static void test_reopen_without_a_whole_head(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    char *empty = path_of(f, "13-1");
    char *segment = path_of(f, "13-1/00000000000000000001");
    char *next = path_of(f, "12-1/00000000000000000006");
    char *first = path_of(f, "12-1/00000000000000000001");

    append_blocks(f, journal, 3);
    assert_int_equal(mkdir(empty, 0700), 0);
    copy_file(first, segment, 30);
    copy_file(first, next, 50); /* died while it began a new segment */
    reopen_spool(f);
    assert_false(fs_exists(empty));
    assert_false(fs_exists(next));
    journal = spool_find(f->spool, 12, 1);
    assert_int_equal(journal_last(journal), 5);
    append_blocks(f, journal, 30);
    send_all(journal, 1);
    free(empty);
    free(segment);
    free(next);
    free(first);
}

static void flip_byte(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    (void)close(fd);
}

static void test_damaged_journal_moves_aside(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    char *path = path_of(f, "12-1/00000000000000000001");
    char *aside = path_of(f, "bad-12-1");

    append_blocks(f, journal, 5);
    (void)begin(f, 13);
    spool_close(f->spool);
    flip_byte(path, (off_t)file_bytes(path) - 2 * BLOCK_BYTES);
    open_spool(f);
    assert_null(spool_find(f->spool, 12, 1));
    assert_non_null(spool_find(f->spool, 13, 1));
    assert_true(fs_exists(aside));
    (void)begin(f, 12);
    free(path);
    free(aside);
}

static void test_damage_in_an_older_segment_is_found_when_read(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    char *path = path_of(f, "12-1/00000000000000000001");
    struct journal_entry entry;
    uint64_t number = 1;
    enum err_code rc;

    append_blocks(f, journal, 60);
    spool_close(f->spool);
    flip_byte(path, (off_t)file_bytes(path) - 2 * BLOCK_BYTES);
    open_spool(f);
    journal = spool_find(f->spool, 12, 1);
    assert_int_equal(journal_last(journal), 62);
    while ((rc = journal_peek(journal, &entry, NULL)) == ERR_OK) {
        check_next(journal, number++);
        journal_sent(journal);
    }
    assert_int_equal(rc, ERR_PROTO);
    assert_true(number > 3 && number < 20);
    free(path);
}

static void set_file_limit(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* The disk takes a part of a record only: nothing of it stays, and it can be appended later. */
static void test_refused_writes_leave_nothing(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    char *path = path_of(f, "12-1/00000000000000000001");
    uint64_t bytes;

    (void)signal(SIGXFSZ, SIG_IGN);
    append_blocks(f, journal, 2);
    bytes = file_bytes(path);
    set_file_limit(bytes + 100);
    assert_int_equal(try_block(f, journal), ERR_IO);
    assert_int_equal(file_bytes(path), bytes);
    assert_int_equal(journal_last(journal), 4);
    assert_int_equal(f->records, 4);
    set_file_limit(20);
    assert_int_equal(journal_create(f->spool,
                                    &(struct journal_of){.build = 13, .attempt = 1, .n_steps = 1},
                                    &journal, NULL),
                     ERR_IO);
    assert_null(spool_find(f->spool, 13, 1));
    set_file_limit(RLIM_INFINITY);
    journal = spool_find(f->spool, 12, 1);
    append_blocks(f, journal, 2);
    send_all(journal, 1);
    reopen_spool(f);
    assert_int_equal(journal_last(spool_find(f->spool, 12, 1)), 6);
    free(path);
}

/* Somebody has removed the slave's folder: what begins then begins all the same. */
static void test_a_folder_that_was_removed(void **state)
{
    struct fixture *f = *state;
    char *path = fs_join(f->dir, "journal");

    begin(f, 12);
    assert_int_equal(fs_remove_tree(path, NULL), ERR_OK);
    append_blocks(f, begin(f, 13), 3);
    assert_int_equal(journal_last(spool_find(f->spool, 13, 1)), 5);
    free(path);
}

/* Takes all that is left of the file system. */
static void fill_disk(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    char page[4096] = {0};

    assert_true(fd >= 0);
    while (write(fd, page, sizeof page) == (ssize_t)sizeof page)
        ;
    (void)close(fd);
}

/* Puts the spool on a disk of 512 KiB; the test ends here, as skipped, where we may not. */
static void move_to_small_disk(struct fixture *f)
{
    spool_close(f->spool);
    f->spool = NULL;
    if (mount("none", f->dir, "tmpfs", 0, "size=512k") != 0)
        skip();
    open_spool(f);
}

static void leave_small_disk(struct fixture *f)
{
    spool_close(f->spool);
    f->spool = NULL;
    assert_int_equal(umount(f->dir), 0);
}

/* On a full disk blocks are refused, but an attempt can still be ended. */
static void test_full_disk_still_takes_the_end(void **state)
{
    struct fixture *f = *state;
    struct msg revision = {.type = REC_REVISION, .u.revision = {view_of("0123456789abcdef")}};
    char *filler = path_of(f, "filler"), *reserve = path_of(f, "reserve");
    struct journal *journal;
    unsigned i;

    move_to_small_disk(f);
    journal = begin(f, 12);
    fill_disk(filler);
    assert_int_equal(try_block(f, journal), ERR_NOSPACE);
    assert_true(fs_exists(reserve));
    for (i = 0; i < 1000; i++) /* more than what is left of the segment's last page */
        append(journal, &revision);
    assert_false(fs_exists(reserve));
    finish(journal);
    send_all(journal, 1);
    journal_ack(journal, journal_last(journal));
    journal_drop(journal);
    assert_true(fs_exists(reserve));
    leave_small_disk(f);
    free(filler);
    free(reserve);
}

/* And a new one can be begun, so that it can say why it ends. */
static void test_full_disk_still_takes_a_new_attempt(void **state)
{
    struct fixture *f = *state;
    char *filler = path_of(f, "filler"), *reserve = path_of(f, "reserve");
    struct journal *journal;

    move_to_small_disk(f);
    fill_disk(filler);
    journal = begin(f, 12);
    assert_false(fs_exists(reserve));
    finish(journal);
    send_all(journal, 1);
    journal_ack(journal, journal_last(journal));
    journal_drop(journal);
    assert_true(fs_exists(reserve));
    leave_small_disk(f);
    free(filler);
    free(reserve);
}

/* What is acknowledged makes room on the disk, too, even when all of it is in one segment. */
static void test_full_disk_is_freed_by_acknowledging(void **state)
{
    struct fixture *f = *state;
    char *filler = path_of(f, "filler"), *reserve = path_of(f, "reserve");
    struct journal *journal;

    move_to_small_disk(f);
    journal = begin(f, 12);
    append_blocks(f, journal, 10);
    fill_disk(filler);
    while (try_block(f, journal) == ERR_OK)
        ;
    assert_int_equal(try_block(f, journal), ERR_NOSPACE);
    assert_int_equal(f->rooms, 0);
    send_all(journal, 1);
    journal_ack(journal, 5);
    assert_int_equal(f->rooms, 0);
    journal_ack(journal, journal_last(journal));
    assert_int_equal(f->rooms, 1);
    assert_true(fs_exists(reserve));
    append_blocks(f, journal, 8);
    send_all(journal, journal_last(journal) - 7);
    leave_small_disk(f);
    free(filler);
    free(reserve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reopen_knows_the_state),
        TEST(reopen_cuts_the_last_record),
        TEST(reopen_without_a_whole_head),
        TEST(damaged_journal_moves_aside),
        TEST(damage_in_an_older_segment_is_found_when_read),
        TEST(refused_writes_leave_nothing),
        TEST(a_folder_that_was_removed),
        TEST(full_disk_still_takes_the_end),
        TEST(full_disk_still_takes_a_new_attempt),
        TEST(full_disk_is_freed_by_acknowledging),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
