/*
 * How many no-op builds the store makes durable in a second: each is asked for, gets an attempt of
 * one step, four journal records and its end, with as many under way at a time as a farm of WINDOW
 * slots would have. Prints one line; what is good enough is for the reader.
 *
 * store_bench [BUILDS [WINDOW [DATA]]]; DATA is kept when named, and used on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "common/io/loop.h"
#include "master/store.h"
#include "proto/codec.h"

struct bench {
    struct loop loop;
    struct store *store;
    uint64_t first_id, asked, finished, total, window;
    uint64_t batches;
};

static char *number(const char *format, uint64_t value)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%s%llu", format, (unsigned long long)value);
    return xstrdup(text);
}

static struct build_info *build_of(uint64_t id, enum build_state state)
{
    struct build_info *build = xcalloc(1, sizeof *build);

    build->id = build->set_id = id;
    build->builder = number("builder-", id % 50);
    build->project = xstrdup("project");
    build->branch = number("branch-", id / 50 % 7);
    build->revision =
        xasprintf("%016llx%024x", (unsigned long long)(id / 50 * 0x9e3779b97f4a7c15), 1u);
    build->pool = xstrdup("linux");
    build->reason = xstrdup("push");
    build->author = xstrdup("somebody@example.org");
    build->queued_ms = 1700000000000 + (int64_t)id;
    build->state = state;
    if (state != BUILD_QUEUED) {
        build->attempt = 1;
        build->slave = number("linux-", id % 100);
        build->started_ms = build->queued_ms + 10;
    }
    if (state == BUILD_FINISHED) {
        build->result = RESULT_SUCCESS;
        build->finished_ms = build->queued_ms + 20;
    }
    return build;
}

static void post_record(struct bench *bench, uint64_t id, uint64_t record, const struct msg *msg)
{
    struct store_op *op = store_op_new(STORE_RECORD, NULL, NULL);
    struct str body = STR_INIT(4096);

    if (msg_encode(msg, &body, NULL) != ERR_OK)
        abort();
    op->attempt.build_id = id;
    op->attempt.attempt = 1;
    op->number = record;
    op->body_bytes = body.n;
    op->body = str_detach(&body);
    store_post(bench->store, op);
}

static void post_records(struct bench *bench, uint64_t id)
{
    int64_t now_ms = 1700000000000 + (int64_t)id;
    struct msg msg = {.type = REC_ATTEMPT_STARTED};

    msg.u.attempt_started.time_ms = now_ms;
    post_record(bench, id, 1, &msg);
    msg = (struct msg){.type = REC_STEP_STARTED};
    msg.u.step_started = (struct msg_step_started){1, now_ms};
    post_record(bench, id, 2, &msg);
    msg = (struct msg){.type = REC_STEP_FINISHED};
    msg.u.step_finished = (struct msg_step_finished){
        .step = 1, .result = RESULT_SUCCESS, .time_ms = now_ms, .user_s = 0.01};
    post_record(bench, id, 3, &msg);
    msg = (struct msg){.type = REC_ATTEMPT_FINISHED};
    msg.u.attempt_finished =
        (struct msg_attempt_finished){.result = RESULT_SUCCESS, .time_ms = now_ms};
    post_record(bench, id, 4, &msg);
}

static void ask(struct bench *bench);

static void on_finished(struct store_op *op, void *owner)
{
    struct bench *bench = owner;

    (void)op;
    bench->finished++;
    ask(bench);
}

static void on_begun(struct store_op *op, void *owner)
{
    struct bench *bench = owner;
    uint64_t id = op->attempt.build_id;
    struct store_op *end = store_op_new(STORE_ATTEMPT_END, on_finished, bench);

    post_records(bench, id);
    end->attempt.build_id = id;
    end->attempt.attempt = 1;
    end->attempt.result = RESULT_SUCCESS;
    end->attempt.finished_ms = 1700000000000 + (int64_t)id;
    end->builds = build_of(id, BUILD_FINISHED);
    end->n_builds = 1;
    store_post(bench->store, end);
}

static void on_created(struct store_op *op, void *owner)
{
    struct bench *bench = owner;
    uint64_t id = op->builds[0].id;
    struct store_op *attempt = store_op_new(STORE_ATTEMPT, on_begun, bench);

    attempt->attempt.build_id = id;
    attempt->attempt.attempt = 1;
    attempt->attempt.slave = number("linux-", id % 100);
    attempt->attempt.started_ms = 1700000000000 + (int64_t)id;
    attempt->builds = build_of(id, BUILD_RUNNING);
    attempt->n_builds = 1;
    attempt->steps = xcalloc(1, sizeof *attempt->steps);
    attempt->n_steps = 1;
    attempt->steps[0].number = 1;
    attempt->steps[0].name = xstrdup("build");
    attempt->steps[0].kind = STEP_BUILD;
    store_post(bench->store, attempt);
}

static void ask(struct bench *bench)
{
    struct store_op *op;
    uint64_t id;

    if (bench->asked >= bench->total)
        return;
    id = bench->first_id + bench->asked++;
    op = store_op_new(STORE_CREATE, on_created, bench);
    op->set.id = id;
    op->set.reason = xstrdup("push");
    op->set.project = xstrdup("project");
    op->set.branch = xstrdup("main");
    op->set.created_ms = 1700000000000 + (int64_t)id;
    op->builds = build_of(id, BUILD_QUEUED);
    op->n_builds = 1;
    store_post(bench->store, op);
}

static void on_batch(void *owner)
{
    ((struct bench *)owner)->batches++;
}

static void on_health(void *owner, const char *error)
{
    (void)owner;
    (void)fprintf(stderr, "store: %s\n", error ? error : "well again");
}

static void on_closed(void *owner)
{
    loop_stop(&((struct bench *)owner)->loop);
}

static double cpu_s(void)
{
    struct rusage usage;

    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec / 1e6 +
           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec / 1e6;
}

static void run(struct bench *bench, const char *data)
{
    static const struct store_ops ops = {.on_health = on_health, .on_batch = on_batch};
    struct store_snapshot snapshot;
    struct err err = ERR_INIT;
    uint64_t begin_ms, took_ms;
    double cpu;

    if (loop_init(&bench->loop, clock_system(), &err) || store_open(data, &bench->store, &err))
        goto failed;
    begin_ms = loop_now_ms(&bench->loop);
    if (store_load(bench->store, &snapshot, &err))
        goto failed;
    (void)printf("start with %llu builds stored: %llu ms\n",
                 (unsigned long long)snapshot.last_build,
                 (unsigned long long)(loop_now_ms(&bench->loop) - begin_ms));
    bench->first_id = snapshot.last_build + 1;
    store_snapshot_release(&snapshot);
    if (store_start(bench->store, &bench->loop, &ops, bench, &err))
        goto failed;
    begin_ms = loop_now_ms(&bench->loop);
    cpu = cpu_s();
    for (uint64_t i = 0; i < bench->window; i++)
        ask(bench);
    while (bench->finished < bench->total)
        loop_run_once(&bench->loop, true);
    took_ms = loop_now_ms(&bench->loop) - begin_ms;
    cpu = cpu_s() - cpu;
    (void)printf("%llu builds in %llu ms: %.0f builds/s, %llu batches, %.1f us of CPU a build\n",
                 (unsigned long long)bench->total, (unsigned long long)took_ms,
                 (double)bench->total * 1000 / (double)(took_ms ? took_ms : 1),
                 (unsigned long long)bench->batches, cpu * 1e6 / (double)bench->total);
    store_stop(bench->store, 1000, on_closed);
    loop_run(&bench->loop);
    store_free(bench->store);
    loop_release(&bench->loop);
    return;
failed:
    (void)fprintf(stderr, "store_bench: %s\n", err.msg);
    exit(1);
}

int main(int argc, char **argv)
{
    struct bench bench = {.total = 50000, .window = 1000};
    char folder[] = "/tmp/store-bench-XXXXXX";
    const char *data = argc > 3 ? argv[3] : mkdtemp(folder);

    if (argc > 1)
        bench.total = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        bench.window = strtoull(argv[2], NULL, 10);
    if (!data)
        return 1;
    run(&bench, data);
    if (argc <= 3)
        return fs_remove_tree(folder, NULL) != ERR_OK;
    return 0;
}
