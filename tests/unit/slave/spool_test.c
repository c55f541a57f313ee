#include "slave/spool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "proto/codec.h"
#include "slave/spool_private.h"

enum { BLOCK_BYTES = 4000, LIMIT = SPOOL_LIMIT_LEAST_BYTES };

struct fixture {
    char dir[64];
    struct spool *spool;
    unsigned records, rooms;
    uint64_t log_offset; /* of the next block */
};

static void on_record(void *owner, struct journal *journal)
{
    struct fixture *f = owner;

    (void)journal;
    f->records++;
}

static void on_room(void *owner)
{
    struct fixture *f = owner;

    f->rooms++;
}

static const struct spool_ops ops = {.on_record = on_record, .on_room = on_room};

static void quiet(void *arg, enum log_level level, struct view line)
{
    (void)arg;
    (void)level;
    (void)line;
}

static void open_spool(struct fixture *f)
{
    assert_int_equal(spool_open(f->dir, LIMIT, &ops, f, &f->spool, NULL), ERR_OK);
    spool_set_tag(f->spool, "boot-1");
}

static void reopen_spool(struct fixture *f)
{
    spool_close(f->spool);
    open_spool(f);
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    log_set_sink(quiet, NULL);
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/tailrace-spool-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    open_spool(f);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    spool_close(f->spool);
    assert_int_equal(fs_remove_tree(f->dir, NULL), ERR_OK);
    free(f);
    return 0;
}

static void append(struct journal *journal, const struct msg *record)
{
    struct err err = ERR_INIT;

    if (journal_append(journal, record, &err) != ERR_OK)
        fail_msg("%s", err.msg);
}

/* Incompressible enough to see mistakes: every byte depends on the block's place. */
static struct msg make_block(char *data, size_t n, uint64_t offset)
{
    size_t i;

    for (i = 0; i < n; i++)
        data[i] = (char)((offset + i) * 2654435761u >> 7);
    return (struct msg){.type = REC_LOG_BLOCK,
                        .u.log_block = {.step = 1,
                                        .offset = offset,
                                        .size = (uint32_t)n,
                                        .crc = (uint32_t)offset,
                                        .data = view_bytes(data, n)}};
}

static enum err_code try_block(struct fixture *f, struct journal *journal)
{
    char data[BLOCK_BYTES];
    struct msg block = make_block(data, sizeof data, f->log_offset);
    enum err_code rc = journal_append(journal, &block, NULL);

    if (!rc)
        f->log_offset += sizeof data;
    return rc;
}

static void append_blocks(struct fixture *f, struct journal *journal, unsigned n)
{
    while (n-- > 0)
        assert_int_equal(try_block(f, journal), ERR_OK);
}

/* A journal whose first step runs: two records. */
static struct journal *begin(struct fixture *f, uint64_t build)
{
    struct msg started = {.type = REC_ATTEMPT_STARTED, .u.attempt_started = {1}};
    struct msg step = {.type = REC_STEP_STARTED, .u.step_started = {1, 2}};
    struct journal *journal;

    assert_int_equal(journal_create(f->spool, build, 1, 3, &journal, NULL), ERR_OK);
    f->log_offset = 0;
    append(journal, &started);
    append(journal, &step);
    return journal;
}

static void finish(struct journal *journal)
{
    struct msg step = {.type = REC_STEP_FINISHED,
                       .u.step_finished = {.step = 1, .result = RESULT_SUCCESS}};
    struct msg end = {.type = REC_ATTEMPT_FINISHED, .u.attempt_finished = {RESULT_SUCCESS}};

    append(journal, &step);
    append(journal, &end);
}

/* Checks that the next record to send is that number, and if it is a block, that it is the one that
 * was appended. */
static void check_next(struct journal *journal, uint64_t number)
{
    struct msg_arena *arena = msg_arena_new();
    struct journal_entry entry;
    char data[BLOCK_BYTES];
    struct err err = ERR_INIT;
    struct msg got, want;

    if (journal_peek(journal, &entry, &err) != ERR_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(entry.number, number);
    assert_int_equal(msg_decode(arena, entry.body, &got, NULL), ERR_OK);
    if (got.type == REC_LOG_BLOCK) {
        want = make_block(data, sizeof data, (number - 3) * BLOCK_BYTES);
        assert_int_equal(got.u.log_block.offset, want.u.log_block.offset);
        assert_true(view_equal(got.u.log_block.data, want.u.log_block.data));
    }
    msg_arena_free(arena);
}

static void send_all(struct journal *journal, uint64_t from)
{
    struct journal_entry entry;

    for (; from <= journal_last(journal); from++) {
        check_next(journal, from);
        journal_sent(journal);
    }
    assert_int_equal(journal_peek(journal, &entry, NULL), ERR_AGAIN);
}

static char *path_of(const struct fixture *f, const char *name)
{
    return xasprintf("%s/journal/%s", f->dir, name);
}

static uint64_t file_bytes(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

static void test_records_come_back_in_order(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    char *folder = path_of(f, "12-1");

    append_blocks(f, journal, 100); /* several segments of 64 KiB */
    finish(journal);
    assert_int_equal(f->records, 104);
    assert_int_equal(journal_last(journal), 104);
    assert_true(journal->segments.n > 3);
    assert_true(journal_is_complete(journal));
    send_all(journal, 1);

    journal_ack(journal, 60);
    assert_true(journal->segments.v[0].first > 1);
    assert_true(journal->segments.v[0].first <= 61);
    assert_false(journal_is_done(journal));
    journal_ack(journal, 104);
    assert_int_equal(journal->segments.n, 1);
    assert_true(journal_is_done(journal));

    assert_true(fs_exists(folder));
    journal_drop(journal);
    assert_false(fs_exists(folder));
    assert_int_equal(spool_bytes(f->spool), 0);
    free(folder);
}

static void test_memory_is_bounded(void **state)
{
    struct fixture *f = *state;
    struct journal *a, *b;
    unsigned i;

    f->spool->limit_bytes = 64 << 20;
    a = begin(f, 1);
    append_blocks(f, a, 1000);
    b = begin(f, 2);
    for (i = 0; i < 500; i++) {
        append_blocks(f, b, 1);
        assert_true(f->spool->recent_bytes <= SPOOL_MEMORY_BYTES);
    }
    send_all(a, 1);
    send_all(b, 1);
    assert_int_equal(f->spool->recent_bytes, 0);
}

static void test_rewind_sends_again(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 7);
    uint64_t at;

    append_blocks(f, journal, 60);
    for (at = 0; at < 62; at += 7) {
        assert_true(journal_rewind(journal, at > 14 ? at - 14 : 0));
        send_all(journal, at > 14 ? at - 13 : 1);
        append_blocks(f, journal, 1);
        check_next(journal, journal_last(journal));
    }
}

static void test_reading_catches_up_with_memory(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 7);
    uint64_t number = 1;

    append_blocks(f, journal, 20);
    send_all(journal, 1);
    append_blocks(f, journal, 20); /* in memory from 23 on */
    assert_true(journal_rewind(journal, 5));
    for (number = 6; number <= 42; number++) {
        check_next(journal, number);
        check_next(journal, number); /* looking twice changes nothing */
        assert_int_equal(journal->reader.fd >= 0, number < 23);
        journal_sent(journal);
        if (number % 5 == 0)
            journal_ack(journal, number);
    }
}

static void test_rewind_refuses_what_cannot_be(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 7);

    append_blocks(f, journal, 60);
    assert_false(journal_rewind(journal, 63));
    assert_true(journal_rewind(journal, 62));
    assert_true(journal->segments.v[0].first > 1);
    assert_false(journal_rewind(journal, 0));
    check_next(begin(f, 8), 1);
}

static void test_acknowledging_the_unsent_is_cut(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 7);

    journal_ack(journal, 2);
    send_all(journal, 1);
    finish(journal);
    journal_ack(journal, 99);
    assert_false(journal_is_done(journal));
    send_all(journal, 3);
    journal_ack(journal, 99);
    assert_true(journal_is_done(journal));
}

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
    struct msg end = {.type = REC_ATTEMPT_FINISHED, .u.attempt_finished = {RESULT_SUCCESS}};
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

static void test_limit_and_room(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    unsigned n = 0;

    while (spool_has_room(f->spool)) {
        append_blocks(f, journal, 1);
        n++;
    }
    assert_true(n * BLOCK_BYTES <= LIMIT && n * BLOCK_BYTES > LIMIT - 8 * BLOCK_BYTES);
    send_all(journal, 1);
    assert_int_equal(f->rooms, 0);
    journal_ack(journal, 100);
    assert_int_equal(f->rooms, 1);
    assert_true(spool_has_room(f->spool));
    journal_ack(journal, journal_last(journal));
    assert_int_equal(f->rooms, 1);
    assert_true(spool_bytes(f->spool) <= f->spool->segment_bytes);
}

/* The newest segment alone fills the spool: acknowledging it must make room all the same. */
static void test_room_from_the_newest_segment(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);

    f->spool->segment_bytes = 2 * LIMIT;
    while (spool_has_room(f->spool))
        append_blocks(f, journal, 1);
    assert_int_equal(journal->segments.n, 1);
    send_all(journal, 1);
    journal_ack(journal, journal_last(journal));
    assert_int_equal(f->rooms, 1);
    assert_true(spool_bytes(f->spool) < 1000);
    reopen_spool(f);
    journal = spool_find(f->spool, 12, 1);
    append_blocks(f, journal, 1);
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
    assert_int_equal(journal_create(f->spool, 13, 1, 1, &journal, NULL), ERR_IO);
    assert_null(spool_find(f->spool, 13, 1));
    set_file_limit(RLIM_INFINITY);
    journal = spool_find(f->spool, 12, 1);
    append_blocks(f, journal, 2);
    send_all(journal, 1);
    reopen_spool(f);
    assert_int_equal(journal_last(spool_find(f->spool, 12, 1)), 6);
    free(path);
}

/* A file system of 512 KiB on the fixture's folder; false where we may not mount one. */
static bool mount_small(const struct fixture *f)
{
    return mount("none", f->dir, "tmpfs", 0, "size=512k") == 0;
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

/* On a full disk blocks are refused, but an attempt can still be ended. */
static void test_full_disk_still_takes_the_end(void **state)
{
    struct fixture *f = *state;
    struct msg revision = {.type = REC_REVISION, .u.revision = {view_of("0123456789abcdef")}};
    char *filler = path_of(f, "filler"), *reserve = path_of(f, "reserve");
    struct journal *journal;
    unsigned i;

    spool_close(f->spool);
    f->spool = NULL;
    if (!mount_small(f)) {
        free(filler);
        free(reserve);
        skip();
    }
    open_spool(f);
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
    spool_close(f->spool);
    f->spool = NULL;
    (void)umount(f->dir);
    free(filler);
    free(reserve);
}

static void test_records_that_cannot_follow_are_refused(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 12);
    uint64_t bytes = spool_bytes(f->spool);
    struct msg twice = {.type = REC_STEP_STARTED, .u.step_started = {1, 2}};
    struct msg beyond = {.type = REC_STEP_STARTED, .u.step_started = {4, 2}};

    assert_int_equal(journal_append(journal, &twice, NULL), ERR_PROTO);
    assert_int_equal(journal_append(journal, &beyond, NULL), ERR_PROTO);
    f->log_offset = 5;
    assert_int_equal(try_block(f, journal), ERR_PROTO);
    assert_int_equal(spool_bytes(f->spool), bytes);
    assert_int_equal(journal_last(journal), 2);
    f->log_offset = 0;
    append_blocks(f, journal, 1);
    send_all(journal, 1);
    reopen_spool(f);
    assert_int_equal(journal_last(spool_find(f->spool, 12, 1)), 3);
}

static void test_journals_take_turns(void **state)
{
    struct fixture *f = *state;
    struct journal *a = begin(f, 1);
    struct journal *b = begin(f, 2);
    struct journal *c = begin(f, 3);
    struct journal *order[6] = {a, b, c, a, b, c};
    size_t i;

    for (i = 0; i < 6; i++) {
        assert_ptr_equal(spool_sendable(f->spool), order[i]);
        journal_sent(order[i]);
    }
    assert_null(spool_sendable(f->spool));
    assert_true(journal_rewind(b, 1));
    assert_ptr_equal(spool_sendable(f->spool), b);
    journal_retire(b);
    assert_null(spool_sendable(f->spool));
    assert_true(journal_is_retired(b));
}

static void test_one_journal_for_an_attempt(void **state)
{
    struct fixture *f = *state;
    struct journal *journal = begin(f, 1);
    struct journal *other = NULL;

    assert_int_equal(journal_create(f->spool, 1, 1, 1, &other, NULL), ERR_EXISTS);
    assert_null(other);
    assert_int_equal(journal_create(f->spool, 1, 2, 1, &other, NULL), ERR_OK);
    assert_ptr_not_equal(journal, other);
    assert_int_equal(journal_build(other), 1);
    assert_int_equal(journal_attempt(other), 2);
    assert_int_equal(journal_last(other), 0);
    reopen_spool(f);
    other = spool_find(f->spool, 1, 2);
    assert_non_null(other);
    assert_int_equal(journal_last(other), 0);
    assert_int_equal(journal_fold(other)->n_steps, 1);
}

static void test_segment_names(void **state)
{
    char name[SEGMENT_NAME_MAX];

    (void)state;
    assert_string_equal(segment_name(42, name), "00000000000000000042");
    assert_int_equal(segment_number(name), 42);
    assert_true(segment_number(segment_name(UINT64_MAX, name)) == UINT64_MAX);
    assert_int_equal(segment_number("99999999999999999999"), 0);
    assert_int_equal(segment_number("0000000000000000004"), 0);
    assert_int_equal(segment_number("000000000000000000042"), 0);
    assert_int_equal(segment_number("0000000000000000004x"), 0);
    assert_int_equal(segment_number(".."), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(records_come_back_in_order),
        TEST(memory_is_bounded),
        TEST(rewind_sends_again),
        TEST(reading_catches_up_with_memory),
        TEST(rewind_refuses_what_cannot_be),
        TEST(acknowledging_the_unsent_is_cut),
        TEST(reopen_knows_the_state),
        TEST(reopen_cuts_the_last_record),
        TEST(reopen_without_a_whole_head),
        TEST(damaged_journal_moves_aside),
        TEST(damage_in_an_older_segment_is_found_when_read),
        TEST(limit_and_room),
        TEST(room_from_the_newest_segment),
        TEST(refused_writes_leave_nothing),
        TEST(full_disk_still_takes_the_end),
        TEST(records_that_cannot_follow_are_refused),
        TEST(journals_take_turns),
        TEST(one_journal_for_an_attempt),
        TEST(segment_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
