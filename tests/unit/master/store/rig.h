/*
 * A store on a loop of its own for tests, in a folder that goes with it, and short ways to post
 * operations.
 */
#ifndef TAILRACE_TESTS_STORE_RIG_H
#define TAILRACE_TESTS_STORE_RIG_H

#include "common/io/loop.h"
#include "master/store.h"
#include "master/store/reader.h"
#include "proto/codec.h"
#include "tests/unit/master/log_blocks.h"

struct rig {
    char *data;
    struct loop loop;
    struct store *store;
    unsigned batches, healths;
    char health[512]; /* the last error; empty: well */
    bool closed;
    uint64_t done[4096]; /* tags of the operations that are done, in order */
    enum err_code rcs[4096];
    size_t n_done;
    struct store_op last; /* results of the newest: rc and existing_* */
};

static inline void rig_on_health(void *owner, const char *error)
{
    struct rig *rig = owner;

    rig->healths++;
    (void)snprintf(rig->health, sizeof rig->health, "%s", error ? error : "");
}

static inline void rig_on_batch(void *owner)
{
    ((struct rig *)owner)->batches++;
}

static inline void rig_on_closed(void *owner)
{
    ((struct rig *)owner)->closed = true;
}

static inline void rig_on_done(struct store_op *op, void *owner)
{
    struct rig *rig = owner;

    assert_true(rig->n_done < 4096);
    rig->rcs[rig->n_done] = op->rc;
    rig->done[rig->n_done++] = op->tag;
    rig->last.rc = op->rc;
    rig->last.existing_build = op->existing_build;
    rig->last.existing_change = op->existing_change;
    rig->last.existing_set = op->existing_set;
}

/* Opens the store without its thread. */
static inline void rig_open(struct rig *rig)
{
    struct err err = ERR_INIT;

    if (store_open(rig->data, &rig->store, &err) != ERR_OK)
        fail_msg("%s", err.msg);
}

static inline void rig_start(struct rig *rig)
{
    static const struct store_ops ops = {.on_health = rig_on_health, .on_batch = rig_on_batch};

    assert_int_equal(loop_init(&rig->loop, clock_system(), NULL), ERR_OK);
    assert_int_equal(store_start(rig->store, &rig->loop, &ops, rig, NULL), ERR_OK);
    rig->closed = false;
}

static inline void rig_stop(struct rig *rig)
{
    store_stop(rig->store, 5000, rig_on_closed);
    while (!rig->closed)
        loop_run_once(&rig->loop, true);
    store_free(rig->store);
    rig->store = NULL;
    loop_release(&rig->loop);
}

static inline int rig_setup(void **state)
{
    struct rig *rig = xcalloc(1, sizeof *rig);

    log_set_sink(quiet_sink, NULL);
    rig->data = folder_new();
    rig_open(rig);
    rig_start(rig);
    *state = rig;
    return 0;
}

static inline int rig_teardown(void **state)
{
    struct rig *rig = *state;

    if (rig->store)
        rig_stop(rig);
    folder_remove(rig->data);
    free(rig);
    return 0;
}

/* Until all that was posted is durable. */
static inline void rig_wait(struct rig *rig)
{
    while (store_backlog(rig->store) > 0)
        loop_run_once(&rig->loop, true);
}

/* As a new start of the master would: stops, opens, reads the snapshot, starts. */
static inline void rig_restart(struct rig *rig, struct store_snapshot *snapshot)
{
    rig_stop(rig);
    rig_open(rig);
    assert_int_equal(store_load(rig->store, snapshot, NULL), ERR_OK);
    rig_start(rig);
}

static inline struct store_op *rig_op(struct rig *rig, enum store_kind kind)
{
    return store_op_new(kind, rig_on_done, rig);
}

static inline char *dup_or_null(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

/* Fills a queued build; the strings are copied. */
static inline void fill_build(struct build_info *build, uint64_t id, const char *builder,
                              const char *branch)
{
    *build = (struct build_info){
        .id = id,
        .set_id = id,
        .builder = xstrdup(builder),
        .project = xstrdup("sds"),
        .branch = xstrdup(branch),
        .state = BUILD_QUEUED,
        .pool = xstrdup("linux"),
        .priority = PRIORITY_NORMAL,
        .reason = xstrdup("push"),
        .queued_ms = 1000 + (int64_t)id,
    };
}

/* A set of one build, ids alike. */
static inline struct store_op *create_op(struct rig *rig, uint64_t id, const char *builder,
                                         const char *branch)
{
    struct store_op *op = rig_op(rig, STORE_CREATE);

    op->tag = id;
    op->set.id = id;
    op->set.project = xstrdup("sds");
    op->set.branch = xstrdup(branch);
    op->set.created_ms = 1000 + (int64_t)id;
    op->builds = xcalloc(1, sizeof *op->builds);
    op->n_builds = 1;
    fill_build(op->builds, id, builder, branch);
    return op;
}

static inline struct store_op *build_row_op(struct rig *rig, enum store_kind kind, uint64_t id,
                                            enum build_state state, enum build_result result)
{
    struct store_op *op = rig_op(rig, kind);

    op->tag = id;
    op->builds = xcalloc(1, sizeof *op->builds);
    op->n_builds = 1;
    fill_build(op->builds, id, "unit", "main");
    op->builds->state = state;
    op->builds->result = result;
    if (state >= BUILD_RUNNING) {
        op->builds->attempt = 1;
        op->builds->slave = xstrdup("linux-1");
        op->builds->started_ms = 2000;
    }
    op->builds->finished_ms = state == BUILD_FINISHED ? 5000 : 0;
    op->attempt.build_id = id;
    op->attempt.attempt = 1;
    return op;
}

/* Attempt 1 of a build, with steps "one", "two"... of a kind each. */
static inline void post_attempt(struct rig *rig, uint64_t build, size_t n_steps)
{
    struct store_op *op = build_row_op(rig, STORE_ATTEMPT, build, BUILD_RUNNING, RESULT_NONE);

    op->attempt.slave = xstrdup("linux-1");
    op->attempt.started_ms = 2000;
    op->steps = xcalloc(n_steps, sizeof *op->steps);
    op->n_steps = n_steps;
    for (size_t i = 0; i < n_steps; i++) {
        op->steps[i].number = (uint32_t)i + 1;
        op->steps[i].name = xasprintf("step-%zu", i + 1);
        op->steps[i].kind = STEP_BUILD;
    }
    store_post(rig->store, op);
}

static inline void post_record(struct rig *rig, uint64_t build, uint64_t number,
                               const struct msg *record)
{
    struct store_op *op = rig_op(rig, STORE_RECORD);
    struct str body = STR_INIT(131072);

    assert_int_equal(msg_encode(record, &body, NULL), ERR_OK);
    op->tag = number;
    op->attempt.build_id = build;
    op->attempt.attempt = 1;
    op->number = number;
    op->body_bytes = body.n;
    op->body = str_detach(&body);
    store_post(rig->store, op);
}

static inline struct msg step_started(uint32_t step)
{
    struct msg msg = {.type = REC_STEP_STARTED};

    msg.u.step_started = (struct msg_step_started){step, 2100};
    return msg;
}

static inline struct msg step_finished(uint32_t step, enum build_result result, int64_t exit_code)
{
    struct msg msg = {.type = REC_STEP_FINISHED};

    msg.u.step_finished = (struct msg_step_finished){
        .step = step,
        .result = result,
        .exit_code = exit_code,
        .reason = view_of(result == RESULT_SUCCESS ? "" : "exit code"),
        .time_ms = 2900,
        .user_s = 1.5,
        .system_s = 0.25,
        .max_rss_bytes = 4096,
    };
    return msg;
}

static inline struct msg attempt_finished(enum build_result result, bool interrupted)
{
    struct msg msg = {.type = REC_ATTEMPT_FINISHED};

    msg.u.attempt_finished = (struct msg_attempt_finished){
        .result = result,
        .reason = view_of(interrupted ? "the machine went down" : ""),
        .time_ms = 3000,
        .interrupted = interrupted,
    };
    return msg;
}

/* The step as a reader sees it; the caller releases it. */
struct step_wanted {
    uint32_t number;
    struct step_info found;
};

static inline void keep_step(void *arg, const struct step_info *step)
{
    struct step_wanted *wanted = arg;

    if (step->number == wanted->number)
        step_info_copy(&wanted->found, step);
}

static inline struct step_info read_step(struct rig *rig, uint64_t build, uint32_t number)
{
    struct step_wanted wanted = {.number = number};
    struct reader *reader = NULL;

    assert_int_equal(reader_open(rig->data, &reader, NULL), ERR_OK);
    assert_int_equal(reader_steps(reader, build, 0, keep_step, &wanted, NULL), ERR_OK);
    reader_close(reader);
    assert_non_null(wanted.found.name);
    return wanted.found;
}

static inline void keep_attempt(void *arg, const struct attempt_info *attempt)
{
    attempt_info_release(arg);
    attempt_info_copy(arg, attempt);
}

static inline struct attempt_info read_attempt(struct rig *rig, uint64_t build)
{
    struct attempt_info found = {0};
    struct reader *reader = NULL;

    assert_int_equal(reader_open(rig->data, &reader, NULL), ERR_OK);
    assert_int_equal(reader_attempts(reader, build, keep_attempt, &found, NULL), ERR_OK);
    reader_close(reader);
    return found;
}

static inline void keep_build(void *arg, const struct build_info *build)
{
    build_info_copy(arg, build);
}

static inline struct build_info read_build(struct rig *rig, uint64_t id)
{
    struct build_info found = {0};
    struct reader *reader = NULL;

    assert_int_equal(reader_open(rig->data, &reader, NULL), ERR_OK);
    assert_int_equal(reader_build(reader, id, keep_build, &found, NULL), ERR_OK);
    reader_close(reader);
    return found;
}

#endif
