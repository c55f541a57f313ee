/*
 * simslaves: many simulated slaves in one process, to measure a master by, and to test its queue
 * with more slaves than a machine could hold.
 *
 * Standard output gets one JSON object a line: "start" at once, "connected" each time that all
 * slaves are connected, "end" with the counts when it stops (SIGTERM, SIGINT, or --builds reached).
 * The trace gets one line for each attempt that ended here. Times are milliseconds of the monotonic
 * clock.
 */
#include <popt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/json_out.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/io/fsx.h"
#include "common/io/listener.h"
#include "common/io/sig.h"
#include "common/io/timer.h"
#include "tests/bench/instant.h"
#include "tests/bench/simslave.h"

enum { NAMES_MAX = 20000, LINE_MAX_BYTES = 4096, TRACE_FLUSH_MS = 20 };

/* What the command line says; texts are owned. */
struct options {
    char *master, *names, *secret_file, *hold, *log, *trace;
    int slots, stagger_ms, builds, quiet;
};

struct simulation {
    struct loop loop;
    struct options options;
    char *host;
    struct str secret;
    struct simlog log;
    struct simslave_group group;
    text_list names;
    VEC(struct simslave *) slaves;
    size_t n_stopped;
    bool stopping;
    double begin_ms;
    FILE *trace;
    struct timer trace_timer; /* running while there is something to flush */
    struct sig sigs[2];
};

static void say(struct str *line, FILE *to)
{
    str_putc(line, '\n');
    (void)fwrite(str_cstr(line), 1, line->n, to);
    str_release(line);
}

/* Begins {"event": NAME, "t_ms": NOW in *line; the caller adds to it, ends and says it. */
static void event_begin(struct json_out *j, struct str *line, const char *name)
{
    json_out_init(j, line);
    json_object(j);
    json_kv_str(j, "event", name);
    json_key(j, "t_ms");
    json_double(j, instant_ms());
}

static void on_connected(void *owner)
{
    struct simulation *sim = owner;
    struct str line = STR_INIT(LINE_MAX_BYTES);
    struct json_out j;

    if (sim->group.counts.connected < sim->slaves.n)
        return;
    event_begin(&j, &line, "connected");
    json_kv_u64(&j, "slaves", sim->slaves.n);
    json_key(&j, "took_ms");
    json_double(&j, instant_ms() - sim->begin_ms);
    json_kv_u64(&j, "dials", sim->group.counts.dials);
    json_kv_u64(&j, "dial_failures", sim->group.counts.dial_failures);
    json_end(&j);
    say(&line, stdout);
    (void)fflush(stdout);
}

static void on_trace_timer(struct timer *timer, void *owner)
{
    struct simulation *sim = owner;

    (void)timer;
    (void)fflush(sim->trace);
}

static void on_ended(void *owner, const struct simslave_ended *ended)
{
    struct simulation *sim = owner;

    if (!sim->trace)
        return;
    (void)fprintf(sim->trace,
                  "{\"build\": %llu, \"attempt\": %u, \"slave\": \"%s\", \"start_ms\": %.3f, "
                  "\"end_ms\": %.3f, \"result\": \"%s\"}\n",
                  (unsigned long long)ended->build, ended->attempt, ended->slave, ended->start_ms,
                  ended->end_ms, ended->result);
    if (!timer_is_running(&sim->trace_timer))
        timer_start(&sim->trace_timer, TRACE_FLUSH_MS, 0);
}

static void say_end(struct simulation *sim)
{
    const struct simslave_counts *counts = &sim->group.counts;
    struct str line = STR_INIT(LINE_MAX_BYTES);
    struct json_out j;

    event_begin(&j, &line, "end");
    json_kv_u64(&j, "connected", counts->connected);
    json_kv_u64(&j, "dials", counts->dials);
    json_kv_u64(&j, "dial_failures", counts->dial_failures);
    json_kv_u64(&j, "refused", counts->refused);
    json_kv_u64(&j, "breaks", counts->breaks);
    json_kv_u64(&j, "started", counts->started);
    json_kv_u64(&j, "ended", counts->ended);
    json_kv_u64(&j, "forgotten", counts->forgotten);
    json_kv_u64(&j, "log_bytes", counts->log_bytes);
    json_end(&j);
    say(&line, stdout);
    (void)fflush(stdout);
}

static void stop(struct simulation *sim)
{
    if (sim->stopping)
        return;
    sim->stopping = true;
    say_end(sim);
    for (size_t i = 0; i < sim->slaves.n; i++)
        simslave_stop(sim->slaves.v[i]);
    if (sim->slaves.n == 0)
        loop_stop(&sim->loop);
}

static void on_forgotten(void *owner)
{
    struct simulation *sim = owner;

    if (sim->options.builds > 0 && sim->group.counts.forgotten >= (uint64_t)sim->options.builds)
        stop(sim);
}

static void on_stopped(void *owner)
{
    struct simulation *sim = owner;

    if (++sim->n_stopped == sim->slaves.n)
        loop_stop(&sim->loop);
}

static void on_signal(void *owner, int signal)
{
    (void)signal;
    stop(owner);
}

static bool options_parse(int argc, const char **argv, struct options *o)
{
    const struct poptOption table[] = {
        {"master", 'm', POPT_ARG_STRING, &o->master, 0, "the master's address", "HOST:PORT"},
        {"names", 'n', POPT_ARG_STRING, &o->names, 0, "names, as in sim-[0001-1000]", "PATTERN"},
        {"secret-file", 's', POPT_ARG_STRING, &o->secret_file, 0, "the secret they share", "FILE"},
        {"slots", '\0', POPT_ARG_INT, &o->slots, 0, "slots of each (default: 1)", "N"},
        {"hold", '\0', POPT_ARG_STRING, &o->hold, 0, "how long a build takes (0s)", "TIME"},
        {"log", '\0', POPT_ARG_STRING, &o->log, 0, "log of each build (0)", "SIZE"},
        {"stagger", '\0', POPT_ARG_INT, &o->stagger_ms, 0, "between two first dials (0)", "MS"},
        {"builds", '\0', POPT_ARG_INT, &o->builds, 0, "stop after so many attempts", "N"},
        {"trace", '\0', POPT_ARG_STRING, &o->trace, 0, "one JSON line for each attempt", "FILE"},
        {"quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "log only errors", NULL},
        POPT_AUTOHELP POPT_TABLEEND,
    };
    poptContext context = poptGetContext("simslaves", argc, argv, table, 0);
    int rc = poptGetNextOpt(context);
    bool fine = rc == -1 && !poptPeekArg(context) && o->master && o->names && o->slots >= 0 &&
                o->stagger_ms >= 0;

    if (!fine)
        (void)fprintf(stderr, "usage: simslaves --master HOST:PORT --names PATTERN [--slots N] "
                              "[--hold TIME] [--log SIZE]\n    [--secret-file FILE] [--stagger MS] "
                              "[--builds N] [--trace FILE] [--quiet]\n");
    poptFreeContext(context);
    return fine;
}

static enum err_code read_values(struct simulation *sim, struct err *err)
{
    const struct options *o = &sim->options;
    struct simslave_group *group = &sim->group;
    uint64_t log_bytes = 0;
    enum err_code rc = address_split(o->master, &sim->host, &group->port, err);

    if (!rc)
        rc = text_expand_hosts(view_of(o->names), NAMES_MAX, &sim->names, err);
    if (!rc && o->hold)
        rc = text_duration(view_of(o->hold), &group->hold_ms, err);
    if (!rc && o->log)
        rc = text_size(view_of(o->log), &log_bytes, err);
    if (!rc && o->secret_file)
        rc = fs_read_secret(o->secret_file, &sim->secret, err);
    if (rc)
        return rc;
    if (o->trace && !(sim->trace = fopen(o->trace, "w")))
        return err_set(err, ERR_IO, "open %s", o->trace);
    simlog_init(&sim->log, log_bytes);
    group->loop = &sim->loop;
    group->host = sim->host;
    group->secret = str_view(&sim->secret);
    group->slots = o->slots ? (uint32_t)o->slots : 1;
    group->log = &sim->log;
    group->on_connected = on_connected;
    group->on_ended = on_ended;
    group->on_forgotten = on_forgotten;
    group->on_stopped = on_stopped;
    group->owner = sim;
    return ERR_OK;
}

/* One descriptor for each slave. */
static void raise_files_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void start(struct simulation *sim)
{
    struct str line = STR_INIT(LINE_MAX_BYTES);
    struct json_out j;

    timer_init(&sim->trace_timer, &sim->loop, on_trace_timer, sim);
    sim->begin_ms = instant_ms();
    for (size_t i = 0; i < sim->names.n; i++) {
        uint64_t delay_ms = i * (uint64_t)sim->options.stagger_ms;

        vec_push(&sim->slaves, simslave_new(&sim->group, sim->names.v[i], delay_ms));
    }
    event_begin(&j, &line, "start");
    json_kv_u64(&j, "slaves", sim->slaves.n);
    json_end(&j);
    say(&line, stdout);
    (void)fflush(stdout);
}

static void finish(struct simulation *sim)
{
    for (size_t i = 0; i < sim->slaves.n; i++)
        simslave_free(sim->slaves.v[i]);
    vec_release(&sim->slaves);
    timer_stop(&sim->trace_timer);
    sig_close(&sim->sigs[0]);
    sig_close(&sim->sigs[1]);
    loop_release(&sim->loop);
}

static enum err_code run(struct simulation *sim, struct err *err)
{
    enum err_code rc = read_values(sim, err);

    if (!rc)
        rc = loop_init(&sim->loop, clock_system(), err);
    if (!rc)
        rc = sig_open(&sim->sigs[0], &sim->loop, SIGTERM, on_signal, sim, err);
    if (!rc)
        rc = sig_open(&sim->sigs[1], &sim->loop, SIGINT, on_signal, sim, err);
    if (rc)
        return rc;
    start(sim);
    loop_run(&sim->loop);
    finish(sim);
    return ERR_OK;
}

static void simulation_release(struct simulation *sim)
{
    if (sim->trace)
        (void)fclose(sim->trace);
    simlog_release(&sim->log);
    text_list_release(&sim->names);
    str_release(&sim->secret);
    free(sim->host);
    free(sim->options.master);
    free(sim->options.names);
    free(sim->options.secret_file);
    free(sim->options.hold);
    free(sim->options.log);
    free(sim->options.trace);
}

int main(int argc, const char **argv)
{
    struct simulation sim = {.secret = STR_INIT(4096)};
    struct err err = ERR_INIT;
    int status = 2;

    if (!options_parse(argc, argv, &sim.options))
        goto done;
    log_set_level(sim.options.quiet ? LOG_LEVEL_ERROR : LOG_LEVEL_WARN);
    raise_files_limit();
    status = run(&sim, &err) ? 1 : 0;
    if (status)
        (void)fprintf(stderr, "simslaves: %s\n", err.msg);
done:
    simulation_release(&sim);
    return status;
}
