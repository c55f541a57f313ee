#include "tests/support/masterbench.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "common/io/proc.h"
#include "master/store/reader.h"

enum { LINES_MAX_BYTES = 16 << 20, STEP_MS = 5000, STOP_MS = 5000 };

/* --- what the web would be told --- */

static void tell(struct masterbench *bench, const struct event *event)
{
    struct str *lines = &bench->lines;
    unsigned long long build = (unsigned long long)event->build_id;
    unsigned attempt = event->attempt, step = event->step.number;

    switch (event->kind) {
    case EVENT_BUILD:
        str_printf(lines, "build %llu %s\n", (unsigned long long)event->build.id,
                   build_state_name(event->build.state));
        break;
    case EVENT_STEP:
        str_printf(lines, "step %llu/%u %u %s\n", build, attempt, step,
                   step_state_name(event->step.state));
        break;
    case EVENT_LOG:
        str_printf(lines, "log %llu/%u %u %llu\n", build, attempt, step,
                   (unsigned long long)event->step.log[0].bytes);
        break;
    case EVENT_POINTS:
        str_printf(lines, "points %llu/%u\n", build, attempt);
        break;
    case EVENT_SLAVE:
        str_printf(lines, "slave %s %s\n", event->slave.name, slave_state_name(event->slave.state));
        break;
    case EVENT_SLAVE_GONE:
        str_printf(lines, "slave %s gone\n", event->slave.name);
        break;
    case EVENT_CHANGE:
        str_printf(lines, "change %llu\n", (unsigned long long)event->change.id);
        break;
    case EVENT_POOL:
        str_printf(lines, "pool %s %u %u\n", event->pool.name, event->pool.queued,
                   event->pool.running);
        break;
    case EVENT_POOL_GONE:
        str_printf(lines, "pool %s gone\n", event->pool.name);
        break;
    case EVENT_CONFIG:
        str_put(lines, event->text ? "config bad\n" : "config\n");
        break;
    case EVENT_HEALTH:
        str_put(lines, event->text ? "health bad\n" : "health good\n");
        break;
    }
}

static void on_emit(void *owner, struct event *event)
{
    tell(owner, event);
    event_free(event);
}

bool bench_told(const struct masterbench *bench, const char *wanted)
{
    char *whole = xasprintf("\n%s\n", wanted);
    const char *lines = str_cstr(&bench->lines);
    bool told = strncmp(lines, whole + 1, strlen(whole + 1)) == 0 || strstr(lines, whole) != NULL;

    free(whole);
    return told;
}

void bench_clear(struct masterbench *bench)
{
    str_clear(&bench->lines);
}

/* --- the rest of a master --- */

static void on_answer(void *owner, struct command *command)
{
    struct masterbench *bench = owner;

    if (command != bench->answer) /* nobody waits for it */
        command_free(command);
    else
        bench->answered = true;
}

static void on_reload(void *owner, struct command *command)
{
    reload_begin(((struct masterbench *)owner)->reload, command);
}

static void on_config(void *owner, const struct config_report *report)
{
    struct masterbench *bench = owner;
    struct event *event = event_new(EVENT_CONFIG);

    event->text = report->error ? xstrdup(report->error) : NULL;
    on_emit(bench, event);
    if (report->error)
        return;
    registry_reconfigure(bench->hub.registry, report->draining);
    builds_reconfigure(bench->hub.builds);
    registry_emit_all(bench->hub.registry);
    if (bench->poller)
        poller_reconfigure(bench->poller);
}

static void on_reloaded(void *owner, struct command *command)
{
    struct masterbench *bench = owner;

    if (command)
        desk_answer(bench->desk, command);
}

static void on_health(void *owner, const char *error)
{
    struct masterbench *bench = owner;

    free(bench->hub.store_error);
    bench->hub.store_error = error ? xstrdup(error) : NULL;
    str_put(&bench->lines, error ? "health bad\n" : "health good\n");
    if (!error)
        builds_dispatch(bench->hub.builds);
}

static void on_batch(void *owner)
{
    registry_flush_acks(((struct masterbench *)owner)->hub.registry);
}

static void on_store_closed(void *owner)
{
    ((struct masterbench *)owner)->store_closed = true;
}

static void load_config(struct masterbench *bench)
{
    struct yaml_errors errors = {0};
    char *path = fs_join(bench->folder, "master.yaml");

    bench->hub.config = config_load(path, &errors);
    if (!bench->hub.config)
        fail_msg("%s", errors.v.v[0]);
    yaml_errors_release(&errors);
    free(path);
}

void bench_start(struct masterbench *bench)
{
    static const struct store_ops store_ops = {.on_health = on_health, .on_batch = on_batch};
    static const struct desk_ops desk_ops = {.answer = on_answer, .reload = on_reload};
    static const struct reload_ops reload_ops = {.on_config = on_config, .on_done = on_reloaded};
    struct store_snapshot snapshot = {0};
    struct hub *hub = &bench->hub;

    load_config(bench);
    hub->loop = &bench->loop;
    hub->emit = on_emit;
    hub->owner = bench;
    hub->url = xstrdup("http://ci/");
    hub->stopping = false;
    ident_new(loop_wall_ms(&bench->loop), hub->boot_id);
    assert_int_equal(store_open(hub->config->data, &hub->store, NULL), ERR_OK);
    assert_int_equal(store_load(hub->store, &snapshot, NULL), ERR_OK);
    assert_int_equal(store_start(hub->store, &bench->loop, &store_ops, bench, NULL), ERR_OK);
    hub->builds = builds_new(hub);
    hub->registry = registry_new(hub, &snapshot);
    bench->poller = poller_new(hub, &snapshot);
    builds_restore(hub->builds, &snapshot);
    store_snapshot_release(&snapshot);
    bench->desk = desk_new(hub, &desk_ops, bench);
    bench->reload = reload_new(hub, &reload_ops, bench);
    bench_settle(bench);
}

static void close_store(struct masterbench *bench, uint64_t wait_ms)
{
    bench->store_closed = false;
    store_stop(bench->hub.store, wait_ms, on_store_closed);
    while (!bench->store_closed)
        loop_run_once(&bench->loop, true);
}

static void close_slaves(struct masterbench *bench)
{
    registry_close(bench->hub.registry, "the master is stopping");
    while (!registry_is_closed(bench->hub.registry)) {
        loop_run_once(&bench->loop, false);
        fake_clock_advance(&bench->clock, 10);
    }
    for (size_t i = 0; i < bench->puppets.n; i++) {
        puppet_close(bench->puppets.v[i]);
        while (!puppet_is_closed(bench->puppets.v[i]))
            loop_run_once(&bench->loop, false);
    }
}

static void release(struct masterbench *bench)
{
    struct hub *hub = &bench->hub;

    poller_free(bench->poller);
    bench->poller = NULL;
    registry_free(hub->registry);
    builds_free(hub->builds);
    store_free(hub->store);
    desk_free(bench->desk);
    reload_free(bench->reload);
    config_unref(&hub->config);
    free(hub->url);
    free(hub->store_error);
    memset(hub, 0, sizeof *hub);
}

void bench_stop(struct masterbench *bench)
{
    bench->hub.stopping = true;
    close_slaves(bench);
    close_store(bench, STOP_MS);
    release(bench);
}

void bench_crash(struct masterbench *bench)
{
    bench->hub.stopping = true;
    close_store(bench, 0);
    close_slaves(bench);
    release(bench);
    bench_disk_free(bench);
    bench_start(bench);
}

void bench_restart(struct masterbench *bench)
{
    bench_stop(bench);
    bench_start(bench);
}

void bench_write(struct masterbench *bench, const char *name, const char *text)
{
    char *path = fs_join(bench->folder, name);

    assert_int_equal(fs_replace(path, view_of(text), 0600, NULL), ERR_OK);
    free(path);
}

static void quiet(void *arg, enum log_level level, struct view line)
{
    (void)arg;
    (void)level;
    (void)line;
}

struct masterbench *bench_new(const char *yaml)
{
    struct masterbench *bench = xcalloc(1, sizeof *bench);

    if (!getenv("TEST_LOG"))
        log_set_sink(quiet, NULL);
    (void)signal(SIGXFSZ, SIG_IGN);
    bench->lines.max = LINES_MAX_BYTES;
    bench->folder =
        xasprintf("%s/tailrace-test-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(bench->folder));
    fake_clock_init(&bench->clock, 1000000, 1700000000000);
    assert_int_equal(loop_init(&bench->loop, &bench->clock.clock, NULL), ERR_OK);
    bench_write(bench, "master.yaml", yaml);
    bench_start(bench);
    return bench;
}

void bench_free(struct masterbench *bench)
{
    bench_disk_free(bench);
    bench_stop(bench);
    for (size_t i = 0; i < bench->puppets.n; i++)
        puppet_free(bench->puppets.v[i]);
    vec_release(&bench->puppets);
    command_free(bench->answer);
    proc_table_close(&bench->loop);
    loop_release(&bench->loop);
    assert_int_equal(fs_remove_tree(bench->folder, NULL), ERR_OK);
    free(bench->folder);
    str_release(&bench->lines);
    free(bench);
}

void bench_poll(struct masterbench *bench)
{
    poller_start(bench->poller);
}

/* --- time and the disk --- */

static bool timer_is_due(const struct masterbench *bench)
{
    return bench->loop.n_timers > 0 && bench->loop.timers[0]->due_ms <= loop_now_ms(&bench->loop);
}

void bench_settle(struct masterbench *bench)
{
    for (;;) {
        loop_run_once(&bench->loop, false);
        if (timer_is_due(bench))
            continue;
        if (bench->hub.store_error || store_backlog(bench->hub.store) == 0)
            return;
        loop_run_once(&bench->loop, true);
    }
}

void bench_advance(struct masterbench *bench, uint64_t ms)
{
    bench_settle(bench);
    while (ms > 0) {
        uint64_t step_ms = ms < STEP_MS ? ms : STEP_MS;

        fake_clock_advance(&bench->clock, step_ms);
        ms -= step_ms;
        loop_run_once(&bench->loop, false);
        bench_settle(bench);
    }
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

void bench_disk_fill(struct masterbench *bench)
{
    (void)bench;
    limit_files(1);
}

void bench_disk_full(struct masterbench *bench)
{
    limit_files(1);
    while (!bench->hub.store_error)
        loop_run_once(&bench->loop, true);
    bench_settle(bench);
}

void bench_disk_free(struct masterbench *bench)
{
    limit_files(RLIM_INFINITY);
    if (!bench->hub.store)
        return;
    while (bench->hub.store_error)
        loop_run_once(&bench->loop, true);
    bench_settle(bench);
}

/* --- commands --- */

struct command *bench_ask(struct masterbench *bench, struct command *command)
{
    command_free(bench->answer);
    bench->answer = command;
    bench->answered = false;
    desk_take(bench->desk, command);
    while (!bench->answered && !bench->hub.store_error)
        loop_run_once(&bench->loop, true);
    bench_settle(bench);
    return command;
}

uint64_t bench_force(struct masterbench *bench, const char *builder, const char *revision)
{
    struct command *command = command_new(COMMAND_FORCE);

    command->name = xstrdup(builder);
    command->revision = revision ? xstrdup(revision) : NULL;
    (void)bench_ask(bench, command);
    if (command->err.code)
        fail_msg("force %s: %s", builder, command->err.msg);
    return command->build.id;
}

struct command *bench_cancel(struct masterbench *bench, uint64_t build, const char *reason)
{
    struct command *command = command_new(COMMAND_CANCEL);

    command->build_id = build;
    command->reason = reason ? xstrdup(reason) : NULL;
    return bench_ask(bench, command);
}

struct command *bench_reload(struct masterbench *bench, const char *yaml)
{
    bench_write(bench, "master.yaml", yaml);
    return bench_ask(bench, command_new(COMMAND_RELOAD));
}

/* --- slaves --- */

struct puppet *bench_puppet_with(struct masterbench *bench, const struct puppet_hello *hello)
{
    struct puppet *puppet = puppet_new(&bench->loop, bench->hub.registry, hello);

    vec_push(&bench->puppets, puppet);
    bench_settle(bench);
    return puppet;
}

struct puppet *bench_puppet(struct masterbench *bench, const char *name)
{
    struct puppet_hello hello = {.name = name};

    return bench_puppet_with(bench, &hello);
}

struct puppet *bench_puppet_holding(struct masterbench *bench, const char *name, uint64_t build,
                                    uint32_t attempt, uint64_t last)
{
    struct msg_held held = {.build = build, .attempt = attempt, .last = last};
    struct puppet_hello hello = {.name = name, .held = &held, .n_held = 1};

    return bench_puppet_with(bench, &hello);
}

/* --- what is durable --- */

static void keep_build(void *arg, const struct build_info *build)
{
    build_info_copy(arg, build);
}

struct build_info bench_row(struct masterbench *bench, uint64_t build)
{
    struct build_info found = {0};
    struct reader *reader = NULL;

    assert_int_equal(reader_open(bench->hub.config->data, &reader, NULL), ERR_OK);
    assert_int_equal(reader_build(reader, build, keep_build, &found, NULL), ERR_OK);
    reader_close(reader);
    return found;
}

struct attempt_wanted {
    uint32_t attempt;
    struct attempt_info found;
};

static void keep_attempt(void *arg, const struct attempt_info *attempt)
{
    struct attempt_wanted *wanted = arg;

    if (attempt->attempt == wanted->attempt)
        attempt_info_copy(&wanted->found, attempt);
}

struct attempt_info bench_attempt_row(struct masterbench *bench, uint64_t build, uint32_t attempt)
{
    struct attempt_wanted wanted = {.attempt = attempt};
    struct reader *reader = NULL;

    assert_int_equal(reader_open(bench->hub.config->data, &reader, NULL), ERR_OK);
    assert_int_equal(reader_attempts(reader, build, keep_attempt, &wanted, NULL), ERR_OK);
    reader_close(reader);
    assert_int_equal(wanted.found.attempt, attempt);
    return wanted.found;
}

const char *bench_expect(struct masterbench *bench, uint64_t build, enum build_state state,
                         enum build_result result)
{
    static char note[1024];
    struct build_info row = bench_row(bench, build);

    enum build_state found = row.state;
    enum build_result ended = row.result;

    (void)snprintf(note, sizeof note, "%s", row.note ? row.note : "");
    build_info_release(&row);
    assert_string_equal(build_state_name(found), build_state_name(state));
    assert_string_equal(result_name(ended), result_name(result));
    return note;
}

/* --- records --- */

struct msg record_attempt_started(void)
{
    return (struct msg){.type = REC_ATTEMPT_STARTED, .u.attempt_started = {1700000000001}};
}

struct msg record_step_started(uint32_t step)
{
    return (struct msg){.type = REC_STEP_STARTED, .u.step_started = {step, 1700000000002}};
}

struct msg record_step_finished(uint32_t step, enum build_result result)
{
    struct msg msg = {.type = REC_STEP_FINISHED};

    msg.u.step_finished.step = step;
    msg.u.step_finished.result = result;
    msg.u.step_finished.exit_code = result == RESULT_SUCCESS ? 0 : 1;
    msg.u.step_finished.time_ms = 1700000000003;
    return msg;
}

struct msg record_attempt_finished(enum build_result result, const char *reason)
{
    struct msg msg = {.type = REC_ATTEMPT_FINISHED};

    msg.u.attempt_finished =
        (struct msg_attempt_finished){result, view_of(reason), 1700000000004, false};
    return msg;
}

struct msg record_interrupted(const char *reason)
{
    struct msg msg = record_attempt_finished(RESULT_EXCEPTION, reason);

    msg.u.attempt_finished.interrupted = true;
    return msg;
}

struct msg record_revision(const char *revision)
{
    return (struct msg){.type = REC_REVISION, .u.revision = {view_of(revision)}};
}

struct msg record_points(uint32_t step)
{
    static const struct msg_point point = {
        .suite = {"s", 1}, .test = {"t", 1}, .metric = {"m", 1}, .value = 1.5};

    return (struct msg){.type = REC_POINTS, .u.points = {step, {&point, 1}}};
}

struct msg record_log(uint32_t step, uint64_t offset, uint32_t n)
{
    static char data[98304];
    char *bytes = xcalloc(1, n);
    struct msg msg = {.type = REC_LOG_BLOCK};
    z_stream z = {0};

    memset(bytes, 'x', n);
    bytes[n - 1] = '\n';
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)bytes;
    z.avail_in = n;
    z.next_out = (Bytef *)data;
    z.avail_out = sizeof data;
    assert_int_equal(deflate(&z, Z_FULL_FLUSH), Z_OK);
    msg.u.log_block = (struct msg_log_block){
        .step = step,
        .offset = offset,
        .size = n,
        .lines = 1,
        .crc = (uint32_t)crc32(0, (const Bytef *)bytes, n),
        .time_ms = 1700000000005,
        .data = view_bytes(data, sizeof data - z.avail_out),
    };
    (void)deflateEnd(&z);
    free(bytes);
    return msg;
}

void bench_begin(struct masterbench *bench, struct puppet *puppet, uint64_t build, uint32_t attempt)
{
    struct msg started = record_attempt_started(), step = record_step_started(1);

    puppet_record(puppet, build, attempt, 1, &started);
    puppet_record(puppet, build, attempt, 2, &step);
    bench_settle(bench);
}

void bench_end(struct masterbench *bench, struct puppet *puppet, uint64_t build, uint32_t attempt,
               uint64_t number, enum build_result result)
{
    struct msg step = record_step_finished(1, result);
    struct msg end = record_attempt_finished(result, result == RESULT_SUCCESS ? "" : "exit code 1");

    puppet_record(puppet, build, attempt, number, &step);
    puppet_record(puppet, build, attempt, number + 1, &end);
    bench_settle(bench);
}

int bench_teardown(void **state)
{
    if (*state)
        bench_free(*state);
    *state = NULL;
    return 0;
}
