/*
 * forceload: forces builds through the REST API over kept-alive connections, several requests deep,
 * so that the one who asks is never the limit. Or, with --every, one after another at a pace, to
 * measure how long one takes.
 *
 * Standard output gets one line of JSON with the sum. The trace gets one for each build: its id,
 * when its request was written and when the answer was read (milliseconds of the monotonic clock).
 */
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "common/io/dialer.h"
#include "common/io/listener.h"
#include "common/io/loop.h"
#include "common/io/stream.h"
#include "common/io/timer.h"
#include "tests/bench/instant.h"

enum { DEPTH_MAX = 64, ANSWER_MAX_BYTES = 1 << 20, REQUEST_MAX_BYTES = 4096, DIAL_MS = 10000 };

struct options {
    char *web, *builder, *branch, *trace, *token;
    int count, connections, depth, every_ms;
};

struct load {
    struct loop loop;
    struct options options;
    char *host;
    uint16_t port;
    struct str request;
    uint64_t to_send, answered, failed;
    double begin_ms;
    FILE *trace;
    struct err err; /* why it ended early */
};

struct lane {
    struct load *load;
    struct stream *stream;
    struct str answer;
    double sent_ms[DEPTH_MAX]; /* a ring of what waits for its answer */
    size_t first, waiting;
    struct timer pace;
};

static void give_up(struct load *load, const struct err *why)
{
    if (!load->err.code)
        load->err = *why;
    loop_stop(&load->loop);
}

static void lane_send(struct lane *lane)
{
    struct load *load = lane->load;
    size_t depth = (size_t)load->options.depth;

    while (lane->waiting < depth && load->to_send > 0) {
        load->to_send--;
        lane->sent_ms[(lane->first + lane->waiting++) % DEPTH_MAX] = instant_ms();
        stream_write(lane->stream, xmemdup(load->request.p, load->request.n), load->request.n);
        if (load->options.every_ms)
            return;
    }
}

static void on_pace(struct timer *timer, void *owner)
{
    (void)timer;
    lane_send(owner);
}

/* The number behind a key in text that ends with a NUL; 0 when it is not there. */
static uint64_t number_after(const char *text, const char *key)
{
    const char *at = strcasestr(text, key);

    return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static void lane_count(struct lane *lane, const char *head, const char *body)
{
    struct load *load = lane->load;
    uint64_t id = number_after(body, "\"id\":");

    if (!view_starts(view_of(head), "HTTP/1.1 201") || id == 0) {
        if (load->failed++ == 0)
            (void)fprintf(stderr, "forceload: %.300s\n", head);
    } else if (load->trace) {
        (void)fprintf(load->trace, "{\"build\": %llu, \"sent_ms\": %.3f, \"answered_ms\": %.3f}\n",
                      (unsigned long long)id, lane->sent_ms[lane->first], instant_ms());
    }
    lane->first = (lane->first + 1) % DEPTH_MAX;
    lane->waiting--;
    if (++load->answered == (uint64_t)load->options.count)
        loop_stop(&load->loop);
}

/* Takes one whole answer out of what was read; false when there is none. */
static bool lane_take(struct lane *lane, size_t *taken)
{
    const char *head = str_cstr(&lane->answer) + *taken;
    const char *end = strstr(head, "\r\n\r\n");
    size_t have = lane->answer.n - *taken;
    size_t need;
    char saved;

    if (!end)
        return false;
    need = (size_t)(end - head) + 4 + number_after(head, "\r\ncontent-length:");
    if (have < need)
        return false;
    saved = head[need];
    lane->answer.p[*taken + need] = '\0'; /* the texts must end where the answer does */
    lane_count(lane, head, end + 4);
    lane->answer.p[*taken + need] = saved;
    *taken += need;
    return true;
}

static void on_data(void *owner, struct view bytes)
{
    struct lane *lane = owner;
    struct load *load = lane->load;
    struct err err = ERR_INIT;
    size_t taken = 0;

    if (str_append(&lane->answer, bytes.p, bytes.n, &err)) {
        give_up(load, &err);
        return;
    }
    while (lane->waiting > 0 && lane_take(lane, &taken))
        ;
    str_consume(&lane->answer, taken);
    if (!load->options.every_ms)
        lane_send(lane);
    else if (lane->waiting == 0)
        timer_start(&lane->pace, (uint64_t)load->options.every_ms, 0);
}

static void on_closed(void *owner, const struct err *why)
{
    struct lane *lane = owner;

    lane->stream = NULL;
    if (lane->load->answered < (uint64_t)lane->load->options.count)
        give_up(lane->load, why);
}

static void on_dialed(void *owner, struct stream *stream, const struct err *why)
{
    static const struct stream_ops ops = {.on_data = on_data, .on_closed = on_closed};
    struct lane *lane = owner;

    if (!stream) {
        give_up(lane->load, why);
        return;
    }
    lane->stream = stream;
    stream_own(stream, &ops, lane);
    stream_read(stream, true);
    lane_send(lane);
}

static void request_make(struct load *load)
{
    const struct options *o = &load->options;
    char *branch = o->branch ? xasprintf(", \"branch\": \"%s\"", o->branch) : xstrdup("");
    char *body = xasprintf("{\"builder\": \"%s\"%s}", o->builder, branch);

    str_printf(&load->request,
               "POST /api/v1/force HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n",
               o->web);
    if (o->token)
        str_printf(&load->request, "Authorization: Bearer %s\r\n", o->token);
    str_printf(&load->request, "Content-Length: %zu\r\n\r\n%s", strlen(body), body);
    free(body);
    free(branch);
}

static enum err_code run(struct load *load, struct err *err)
{
    size_t n = (size_t)load->options.connections;
    struct lane *lanes = xcalloc(n, sizeof *lanes);

    if (loop_init(&load->loop, clock_system(), err)) {
        free(lanes);
        return err->code;
    }
    load->begin_ms = instant_ms();
    for (size_t i = 0; i < n; i++) {
        lanes[i].load = load;
        lanes[i].answer.max = ANSWER_MAX_BYTES;
        timer_init(&lanes[i].pace, &load->loop, on_pace, &lanes[i]);
        (void)dialer_start(&load->loop, load->host, load->port, DIAL_MS, on_dialed, &lanes[i]);
    }
    loop_run(&load->loop);
    /* The streams close as the process ends: nothing here outlives it. */
    for (size_t i = 0; i < n; i++)
        str_release(&lanes[i].answer);
    *err = load->err;
    return err->code;
}

static bool options_parse(int argc, const char **argv, struct options *o)
{
    const struct poptOption table[] = {
        {"web", 'w', POPT_ARG_STRING, &o->web, 0, "the master's web address", "HOST:PORT"},
        {"builder", 'b', POPT_ARG_STRING, &o->builder, 0, "what to force", "NAME"},
        {"branch", '\0', POPT_ARG_STRING, &o->branch, 0, "on which branch", "NAME"},
        {"token", '\0', POPT_ARG_STRING, &o->token, 0, "the token to show", "TEXT"},
        {"count", 'n', POPT_ARG_INT, &o->count, 0, "how many builds (1)", "N"},
        {"connections", 'c', POPT_ARG_INT, &o->connections, 0, "over how many (1)", "N"},
        {"depth", 'd', POPT_ARG_INT, &o->depth, 0, "requests under way on each (1)", "N"},
        {"every", 'e', POPT_ARG_INT, &o->every_ms, 0, "pause between two (0)", "MS"},
        {"trace", '\0', POPT_ARG_STRING, &o->trace, 0, "one JSON line for each build", "FILE"},
        POPT_AUTOHELP POPT_TABLEEND,
    };
    poptContext context = poptGetContext("forceload", argc, argv, table, 0);
    int rc = poptGetNextOpt(context);
    bool fine = rc == -1 && !poptPeekArg(context) && o->web && o->builder && o->count > 0 &&
                o->connections > 0 && o->depth > 0 && o->depth <= DEPTH_MAX && o->every_ms >= 0;

    if (!fine)
        (void)fprintf(stderr, "usage: forceload --web HOST:PORT --builder NAME [--branch NAME] "
                              "[--count N]\n    [--connections N] [--depth 1..64] [--every MS] "
                              "[--token TEXT] [--trace FILE]\n");
    poptFreeContext(context);
    return fine;
}

static enum err_code prepare(struct load *load, struct err *err)
{
    const struct options *o = &load->options;

    if (address_split(o->web, &load->host, &load->port, err))
        return err->code;
    if (o->trace && !(load->trace = fopen(o->trace, "w")))
        return err_set(err, ERR_IO, "open %s", o->trace);
    load->to_send = (uint64_t)o->count;
    request_make(load);
    return ERR_OK;
}

int main(int argc, const char **argv)
{
    struct load load = {.options = {.count = 1, .connections = 1, .depth = 1},
                        .request = STR_INIT(REQUEST_MAX_BYTES)};
    struct err err = ERR_INIT;
    double wall_s;

    if (!options_parse(argc, argv, &load.options))
        return 2;
    log_set_level(LOG_LEVEL_WARN);
    if (prepare(&load, &err) || run(&load, &err))
        (void)fprintf(stderr, "forceload: %s\n", err.msg);
    wall_s = (instant_ms() - load.begin_ms) / 1e3;
    (void)printf("{\"answered\": %llu, \"failed\": %llu, \"begin_ms\": %.3f, \"wall_s\": %.3f, "
                 "\"per_s\": %.1f}\n",
                 (unsigned long long)load.answered, (unsigned long long)load.failed, load.begin_ms,
                 wall_s, (double)load.answered / wall_s);
    if (load.trace)
        (void)fclose(load.trace);
    return err.code || load.failed ? 1 : 0;
}
