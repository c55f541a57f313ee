/*
 * What the tests of the spool share: a spool in a folder of its own, and journals whose blocks can
 * be checked.
 */
#ifndef TAILRACE_TESTS_SPOOL_FIXTURE_H
#define TAILRACE_TESTS_SPOOL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "proto/codec.h"
#include "slave/spool.h"
#include "slave/spool_private.h"

enum { BLOCK_BYTES = 4000, LIMIT = SPOOL_LIMIT_LEAST_BYTES };

struct fixture {
    char dir[64];
    struct spool *spool;
    unsigned records, rooms;
    uint64_t log_offset; /* of the next block */
};

static inline void on_record(void *owner, struct journal *journal)
{
    struct fixture *f = owner;

    (void)journal;
    f->records++;
}

static inline void on_room(void *owner)
{
    struct fixture *f = owner;

    f->rooms++;
}

static const struct spool_ops ops = {.on_record = on_record, .on_room = on_room};

static inline void quiet(void *arg, enum log_level level, struct view line)
{
    (void)arg;
    (void)level;
    (void)line;
}

static inline void open_spool(struct fixture *f)
{
    assert_int_equal(spool_open(f->dir, LIMIT, &ops, f, &f->spool, NULL), ERR_OK);
    spool_set_tag(f->spool, "boot-1");
}

static inline void reopen_spool(struct fixture *f)
{
    spool_close(f->spool);
    open_spool(f);
}

static inline int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    log_set_sink(quiet, NULL);
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/tailrace-spool-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    open_spool(f);
    *state = f;
    return 0;
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    spool_close(f->spool);
    assert_int_equal(fs_remove_tree(f->dir, NULL), ERR_OK);
    free(f);
    return 0;
}

static inline void append(struct journal *journal, const struct msg *record)
{
    struct err err = ERR_INIT;

    if (journal_append(journal, record, &err) != ERR_OK)
        fail_msg("%s", err.msg);
}

/* Incompressible enough to see mistakes: every byte depends on the block's place. */
static inline struct msg make_block(char *data, size_t n, uint64_t offset)
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

static inline enum err_code try_block(struct fixture *f, struct journal *journal)
{
    char data[BLOCK_BYTES];
    struct msg block = make_block(data, sizeof data, f->log_offset);
    enum err_code rc = journal_append(journal, &block, NULL);

    if (!rc)
        f->log_offset += sizeof data;
    return rc;
}

static inline void append_blocks(struct fixture *f, struct journal *journal, unsigned n)
{
    while (n-- > 0)
        assert_int_equal(try_block(f, journal), ERR_OK);
}

/* A journal whose first step runs: two records. */
static inline struct journal *begin(struct fixture *f, uint64_t build)
{
    struct msg started = {.type = REC_ATTEMPT_STARTED, .u.attempt_started = {1}};
    struct msg step = {.type = REC_STEP_STARTED, .u.step_started = {1, 2}};
    struct journal *journal;

    assert_int_equal(journal_create(f->spool,
                                    &(struct journal_of){
                                        .build = build, .attempt = 1, .n_steps = 3, .asked_ms = 77},
                                    &journal, NULL),
                     ERR_OK);
    f->log_offset = 0;
    append(journal, &started);
    append(journal, &step);
    return journal;
}

static inline void finish(struct journal *journal)
{
    struct msg step = {.type = REC_STEP_FINISHED,
                       .u.step_finished = {.step = 1, .result = RESULT_SUCCESS}};
    struct msg end = {.type = REC_ATTEMPT_FINISHED,
                      .u.attempt_finished = {.result = RESULT_SUCCESS}};

    append(journal, &step);
    append(journal, &end);
}

/* Checks that the next record to send is that number, and if it is a block, that it is the one that
 * was appended. */
static inline void check_next(struct journal *journal, uint64_t number)
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

static inline void send_all(struct journal *journal, uint64_t from)
{
    struct journal_entry entry;

    for (; from <= journal_last(journal); from++) {
        check_next(journal, from);
        journal_sent(journal);
    }
    assert_int_equal(journal_peek(journal, &entry, NULL), ERR_AGAIN);
}

static inline char *path_of(const struct fixture *f, const char *name)
{
    return xasprintf("%s/journal/%s", f->dir, name);
}

static inline uint64_t file_bytes(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

#endif
