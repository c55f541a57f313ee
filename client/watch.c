#include "client/watch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/patience.h"
#include "client/progress.h"
#include "client/sse.h"
#include "client/uri.h"
#include "client/when.h"
#include "common/base/mem.h"

enum {
    WATCH_SYNC_MS = 10000,  /* read the build anew so often, should an event have been lost */
    WATCH_IDLE_MS = 120000, /* then the stream is opened anew */
};

struct watch {
    struct cli *cli;
    struct term to;
    struct progress progress;
    struct sse sse;
    bool drawn; /* the terminal's last line is ours to draw over */
    uint64_t synced_ms;
    int64_t ahead_ms; /* the master's clock before ours */
    struct patience patience;
    enum err_code rc; /* why the stream was stopped */
    struct err err;
};

static void line_clear(struct watch *w, struct str *out)
{
    if (w->drawn)
        str_put(out, "\r\033[K");
    w->drawn = false;
}

static void draw(struct watch *w)
{
    struct str out = STR_INIT(PROGRESS_LINES_MAX);

    if (!w->to.tty || progress_finished(&w->progress)) /* then the verdict is all */
        return;
    term_measure(&w->to);
    line_clear(w, &out);
    progress_line(&w->progress, clock_wall_ms(w->cli->clock) + w->ahead_ms, w->to.width - 1, &out);
    w->drawn = true;
    term_write(&w->to, &out);
    str_release(&out);
}

/* Lines for each change are for those who have no terminal; there the drawn line tells. */
static void show(struct watch *w, struct str *lines)
{
    if (w->to.tty)
        draw(w);
    else
        term_write(&w->to, lines);
    str_release(lines);
}

static void say(struct watch *w, const char *text)
{
    struct str out = STR_INIT(PRINT_CELL_MAX);

    line_clear(w, &out);
    term_write(&w->to, &out);
    str_release(&out);
    print_complain("%s", text);
}

static void heard(struct watch *w)
{
    if (patience_heard(&w->patience))
        say(w, "the master is back");
}

/* Why the build is not running: the queue's sentence, or the builds it waits for. */
static void sync_waits(struct watch *w, const struct json *build, struct str *lines)
{
    struct api_reply reply = API_REPLY_INIT;
    struct str path = STR_INIT(URI_MAX);
    const struct json *others = json_get(build, "waits_for");
    const struct json *queue;
    char *sentence = NULL;

    if (progress_is(&w->progress, "waiting") && json_len(others)) {
        sentence = xasprintf("for build %lld%s", (long long)json_int(json_at(others, 0), 0),
                             json_len(others) > 1 ? " and others" : "");
    } else if (progress_is(&w->progress, "queued")) {
        str_put(&path, "/queue?limit=1000");
        uri_query(&path, "pool", json_get_text(build, "pool"));
        if (api_get(&w->cli->api, str_cstr(&path), &reply, NULL) == ERR_OK) {
            queue = json_get(reply.doc, "queue");
            for (size_t i = 0; i < json_len(queue) && !sentence; i++) {
                const struct json *entry = json_at(queue, i);
                const char *why = json_get_text(entry, "waits_for");

                if (json_get_int(entry, "build", 0) == (int64_t)w->progress.id && why)
                    sentence = xstrdup(why);
            }
        }
    }
    progress_waits(&w->progress, sentence, lines);
    free(sentence);
    str_release(&path);
    api_reply_release(&reply);
}

/* Reads the build anew. */
static enum err_code sync_build(struct watch *w, struct err *err)
{
    struct api_reply reply = API_REPLY_INIT;
    struct str path = STR_INIT(URI_MAX);
    struct str lines = STR_INIT(PROGRESS_LINES_MAX);
    enum err_code rc;

    str_printf(&path, "/builds/%llu", (unsigned long long)w->progress.id);
    w->synced_ms = clock_mono_ms(w->cli->clock);
    rc = api_get(&w->cli->api, str_cstr(&path), &reply, err);
    if (rc == ERR_OK) {
        heard(w);
        progress_build(&w->progress, reply.doc, &lines);
        sync_waits(w, reply.doc, &lines);
        show(w, &lines);
        if (progress_finished(&w->progress) && w->cli->args.json)
            cli_print_json(&w->cli->out, &reply);
    }
    str_release(&lines);
    str_release(&path);
    api_reply_release(&reply);
    return rc;
}

static void on_event(void *arg, const char *name, struct view data)
{
    struct watch *w = arg;
    struct str lines = STR_INIT(PROGRESS_LINES_MAX);
    struct json *doc = NULL;
    bool finished = false;

    if (w->rc || json_parse(data, &doc, NULL))
        return;
    if (strcmp(name, "hello") == 0) {
        int64_t now_ms = when_parse(json_get_text(doc, "now"));

        if (now_ms >= 0)
            w->ahead_ms = now_ms - clock_wall_ms(w->cli->clock);
        w->rc = sync_build(w, &w->err); /* what happened before the stream began */
    } else if (strcmp(name, "step") == 0 &&
               json_get_int(doc, "build", 0) == (int64_t)w->progress.id) {
        progress_step(&w->progress, json_get_int(doc, "attempt", 0), json_get(doc, "step"), &lines);
    } else if (strcmp(name, "build") == 0 &&
               json_get_int(doc, "id", 0) == (int64_t)w->progress.id) {
        const char *state = json_get_text(doc, "state");

        /* The end is read whole, with all steps, so that none is missed. */
        finished = state && strcmp(state, "finished") == 0;
        if (!finished)
            progress_build(&w->progress, doc, &lines);
    }
    show(w, &lines);
    if (finished)
        w->rc = sync_build(w, &w->err);
    json_free(doc);
}

static bool on_stream(void *arg, int status, struct view bytes)
{
    struct watch *w = arg;

    if (status != 200) {
        w->rc = api_refusal(status, bytes, &w->err);
        return false;
    }
    heard(w);
    if (w->rc == ERR_OK) {
        enum err_code rc = sse_feed(&w->sse, bytes, on_event, w, &w->err);

        if (rc)
            w->rc = rc;
    }
    return w->rc == ERR_OK && !progress_finished(&w->progress);
}

static bool on_tick(void *arg)
{
    struct watch *w = arg;

    if (w->rc == ERR_OK && !progress_finished(&w->progress)) {
        if (clock_mono_ms(w->cli->clock) - w->synced_ms >= WATCH_SYNC_MS)
            w->rc = sync_build(w, &w->err);
        else
            draw(w);
    }
    return w->rc == ERR_OK && !progress_finished(&w->progress);
}

/* One event stream, to its end. ERR_OK: the build is finished, or the stream ended in good order.
 */
static enum err_code stream_once(struct watch *w, struct err *err)
{
    static const struct httpc_ops ops = {on_stream, on_tick};
    static const char *const headers[] = {"Accept: text/event-stream"};
    char *path = xasprintf("/events?build=%llu", (unsigned long long)w->progress.id);
    char *url = api_url(&w->cli->api, path);
    struct httpc *http = httpc_new();
    struct httpc_reply reply;
    const struct httpc_request request = {.url = url,
                                          .token = w->cli->api.token,
                                          .headers = headers,
                                          .headers_n = 1,
                                          .idle_ms = WATCH_IDLE_MS,
                                          .ops = &ops,
                                          .arg = w};
    enum err_code rc;

    w->rc = ERR_OK;
    sse_release(&w->sse);
    sse_init(&w->sse);
    rc = httpc_run(http, &request, &reply, err);
    if (rc == ERR_OK && w->rc == ERR_OK && reply.status != 200) /* and no body */
        rc = api_refusal(reply.status, VIEW_NULL, err);
    if (w->rc) {
        *err = w->err;
        rc = w->rc;
    }
    httpc_free(http);
    free(url);
    free(path);
    return rc;
}

/* After a stream that ended before the build: pauses, or gives up with the code that ended it. */
static enum err_code again(struct watch *w, enum err_code rc, struct err *err)
{
    if (rc == ERR_OK || rc == ERR_LIMIT) { /* ended in good order, or told more than can be read */
        patience_pause(&w->patience);
        return ERR_OK;
    }
    switch (patience_judge(&w->patience, rc)) {
    case PATIENCE_OVER:
        return rc;
    case PATIENCE_TELL:
        err_prefix(err, "the master is away, waiting for it");
        say(w, err->msg);
        break;
    case PATIENCE_AGAIN:
        break;
    }
    patience_pause(&w->patience);
    return ERR_OK;
}

static int verdict(struct watch *w)
{
    struct str out = STR_INIT(PROGRESS_LINES_MAX);

    line_clear(w, &out);
    progress_verdict(&w->progress, w->to.colour, &out);
    term_write(&w->to, &out);
    str_release(&out);
    return progress_passed(&w->progress) ? CLI_OK : CLI_FAILED;
}

/* A first answer (of POST /force) is only a beginning: its steps are all to come. */
static enum err_code begin(struct watch *w, const struct json *first, struct err *err)
{
    struct str lines = STR_INIT(PROGRESS_LINES_MAX);

    heard(w);
    if (!first)
        return sync_build(w, err);
    progress_build(&w->progress, first, &lines);
    show(w, &lines);
    return progress_finished(&w->progress) ? sync_build(w, err) : ERR_OK;
}

int watch_build(struct cli *cli, uint64_t id, const struct json *first)
{
    struct watch w = {.cli = cli, .patience = PATIENCE_INIT(cli->clock, PATIENCE_LONG_MS)};
    struct err err = ERR_INIT;
    enum err_code rc;
    int code;

    term_init(&w.to, cli->args.json ? STDERR_FILENO : STDOUT_FILENO);
    progress_init(&w.progress, id);
    sse_init(&w.sse);
    rc = begin(&w, first, &err);
    while (rc == ERR_OK && !progress_finished(&w.progress)) {
        rc = stream_once(&w, &err);
        if (!progress_finished(&w.progress))
            rc = again(&w, rc, &err);
    }
    if (progress_finished(&w.progress)) {
        code = verdict(&w);
    } else {
        say(&w, err.msg);
        code = CLI_TROUBLE;
    }
    cli->out.failed = cli->out.failed || w.to.failed;
    sse_release(&w.sse);
    progress_release(&w.progress);
    return code;
}
