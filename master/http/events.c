#include "master/http/events.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "master/http/site.h"

/* One event as all its readers get it. */
struct frame {
    unsigned refs;
    size_t n;
    char *bytes;
};

struct reader_end {
    struct events *events;
    struct request *request; /* NULL: gone; the stream is freed soon */
    uint64_t build;
    char *branch, *builder;
    VEC(struct frame *) queue;
    size_t head;         /* first frame of queue that is not sent */
    size_t sent;         /* bytes of it that are */
    size_t queued_bytes; /* not sent */
    uint64_t heard_ms;   /* when something was queued last */
    bool cut, ended;
    struct reader_end *prev, *next;
};

/* A step whose log has grown; told at most every EVENTS_LOG_GAP_MS. */
struct growth_key {
    uint64_t build;
    uint32_t attempt, step;
};

struct growth {
    struct growth_key key;
    uint64_t bytes, lines;
    uint64_t told_ms;
    bool due; /* grew since it was told */
    UT_hash_handle hh;
};

struct events {
    struct site *site;
    struct reader_end *readers;
    struct growth *growths;
    struct timer tell;
    uint64_t last_id;
};

/* Whom an event concerns. */
struct subject {
    uint64_t build; /* 0: of no build */
    const char *branch, *builder;
    bool everybody;
};

static void frame_unref(struct frame *frame)
{
    if (--frame->refs > 0)
        return;
    free(frame->bytes);
    free(frame);
}

static void reader_clear(struct reader_end *reader)
{
    for (size_t i = reader->head; i < reader->queue.n; i++)
        frame_unref(reader->queue.v[i]);
    reader->queue.n = reader->head = 0;
    reader->sent = reader->queued_bytes = 0;
}

static void reader_push(struct reader_end *reader, struct frame *frame, uint64_t now_ms)
{
    if (reader->cut || reader->ended)
        return;
    reader->heard_ms = now_ms;
    if (reader->queued_bytes + frame->n > EVENTS_QUEUE_MAX) {
        reader->cut = true;
        reader_clear(reader);
    } else {
        frame->refs++;
        vec_push(&reader->queue, frame);
        reader->queued_bytes += frame->n;
    }
    request_wake(reader->request);
}

/* Moves what is left to the front, once that is less than what is done with. */
static void reader_compact(struct reader_end *reader)
{
    size_t left = reader->queue.n - reader->head;

    if (reader->head == 0 || left > reader->head)
        return;
    if (left > 0)
        memmove(reader->queue.v, reader->queue.v + reader->head, left * sizeof *reader->queue.v);
    reader->queue.n = left;
    reader->head = 0;
}

static ssize_t reader_read(void *arg, uint64_t at, char *out, size_t n)
{
    struct reader_end *reader = arg;
    size_t done = 0;

    (void)at;
    if (reader->cut)
        return STREAM_BROKEN;
    while (done < n && reader->head < reader->queue.n) {
        struct frame *frame = reader->queue.v[reader->head];
        size_t left = frame->n - reader->sent;
        size_t some = left < n - done ? left : n - done;

        memcpy(out + done, frame->bytes + reader->sent, some);
        done += some;
        reader->sent += some;
        reader->queued_bytes -= some;
        if (reader->sent < frame->n)
            break;
        frame_unref(frame);
        reader->head++;
        reader->sent = 0;
    }
    reader_compact(reader);
    if (done == 0 && reader->ended)
        return STREAM_END;
    return (ssize_t)done;
}

static void reader_leave(struct reader_end *reader)
{
    if (!reader->request)
        return;
    reader->request = NULL;
    DL_DELETE(reader->events->readers, reader);
    reader->events->site->n_streams--;
}

static void on_gone(void *arg)
{
    reader_leave(arg);
}

static void reader_free(void *arg)
{
    struct reader_end *reader = arg;

    if (reader->request)
        request_on_gone(reader->request, NULL, NULL);
    reader_leave(reader);
    reader_clear(reader);
    vec_release(&reader->queue);
    free(reader->branch);
    free(reader->builder);
    free(reader);
}

/* ---- frames ---- */

static struct frame *frame_new(struct events *events, const char *name, const struct str *json)
{
    struct frame *frame = xcalloc(1, sizeof *frame);

    frame->refs = 1;
    frame->bytes = xasprintf("id: %" PRIu64 "\nevent: %s\ndata: %s\n\n", ++events->last_id, name,
                             str_cstr(json));
    frame->n = strlen(frame->bytes);
    return frame;
}

static bool same(const char *wanted, const char *is)
{
    return !wanted || (is && strcmp(wanted, is) == 0);
}

static bool wants(const struct reader_end *reader, const struct subject *subject)
{
    if (subject->everybody)
        return true;
    if (reader->build && reader->build != subject->build)
        return false;
    return same(reader->branch, subject->branch) && same(reader->builder, subject->builder);
}

static void tell(struct events *events, const char *name, const struct answer *answer,
                 const struct subject *subject)
{
    uint64_t now_ms = loop_now_ms(&events->site->loop);
    struct frame *frame = frame_new(events, name, &answer->body);
    struct reader_end *reader;

    DL_FOREACH (events->readers, reader) {
        if (wants(reader, subject))
            reader_push(reader, frame, now_ms);
    }
    frame_unref(frame);
}

/* ---- log growth ---- */

static void tell_growth(struct events *events, struct growth *growth)
{
    const struct mirror_build *build = mirror_find_build(&events->site->mirror, growth->key.build);
    const struct subject subject = {.build = growth->key.build,
                                    .branch = build ? build->info.branch : NULL,
                                    .builder = build ? build->info.builder : NULL};
    struct answer answer;

    answer_begin(&answer);
    json_object(&answer.json);
    json_kv_u64(&answer.json, "build", growth->key.build);
    json_kv_u64(&answer.json, "attempt", growth->key.attempt);
    json_kv_u64(&answer.json, "step", growth->key.step);
    json_kv_u64(&answer.json, "bytes", growth->bytes);
    json_kv_u64(&answer.json, "lines", growth->lines);
    json_end(&answer.json);
    tell(events, "log", &answer, &subject);
    answer_drop(&answer);
    growth->due = false;
    growth->told_ms = loop_now_ms(&events->site->loop);
}

static void forget_growth(struct events *events, struct growth *growth)
{
    HASH_DEL(events->growths, growth);
    free(growth);
}

/* Tells what is due, forgets what no longer grows. */
static void on_tell(struct timer *timer, void *owner)
{
    struct events *events = owner;
    uint64_t now_ms = loop_now_ms(&events->site->loop);
    uint64_t wait_ms = EVENTS_LOG_GAP_MS;
    struct growth *growth, *next;

    HASH_ITER (hh, events->growths, growth, next) {
        uint64_t age_ms = now_ms - growth->told_ms;

        if (age_ms < EVENTS_LOG_GAP_MS) {
            if (EVENTS_LOG_GAP_MS - age_ms < wait_ms)
                wait_ms = EVENTS_LOG_GAP_MS - age_ms;
        } else if (growth->due) {
            tell_growth(events, growth);
        } else {
            forget_growth(events, growth);
        }
    }
    if (events->growths)
        timer_start(timer, wait_ms, 0);
}

static struct growth *find_growth(struct events *events, const struct growth_key *key)
{
    struct growth *growth;

    HASH_FIND(hh, events->growths, key, sizeof *key, growth);
    return growth;
}

static void key_of(const struct event *event, struct growth_key *key)
{
    memset(key, 0, sizeof *key);
    key->build = event->build_id;
    key->attempt = event->attempt;
    key->step = event->step.number;
}

static void publish_log(struct events *events, const struct event *event)
{
    struct growth_key key;
    struct growth *growth;
    bool fresh;

    key_of(event, &key);
    growth = find_growth(events, &key);
    fresh = !growth;
    if (fresh) {
        growth = xcalloc(1, sizeof *growth);
        growth->key = key;
        HASH_ADD(hh, events->growths, key, sizeof growth->key, growth);
    }
    growth->bytes = event->step.log[0].bytes;
    growth->lines = event->step.log[0].lines;
    growth->due = true;
    if (fresh)
        tell_growth(events, growth);
    if (!timer_is_running(&events->tell))
        timer_start(&events->tell, EVENTS_LOG_GAP_MS, 0);
}

/* ---- the other events ---- */

static void publish_step(struct events *events, const struct event *event)
{
    const struct mirror_build *build = mirror_find_build(&events->site->mirror, event->build_id);
    const struct subject subject = {.build = event->build_id,
                                    .branch = build ? build->info.branch : NULL,
                                    .builder = build ? build->info.builder : NULL};
    const struct show_step_of of = {events->site->base, event->build_id, event->attempt};
    struct growth_key key;
    struct growth *growth;
    struct answer answer;

    key_of(event, &key);
    growth = find_growth(events, &key);
    if (growth)
        growth->due = false; /* the step says it, too */
    answer_begin(&answer);
    json_object(&answer.json);
    json_kv_u64(&answer.json, "build", event->build_id);
    json_kv_u64(&answer.json, "attempt", event->attempt);
    json_key(&answer.json, "step");
    show_step(&answer.json, &event->step, &of);
    json_end(&answer.json);
    tell(events, "step", &answer, &subject);
    answer_drop(&answer);
}

static void put_slave_gone(struct json_out *json, const struct slave_info *slave)
{
    json_object(json);
    json_kv_str(json, "name", slave->name);
    json_kv_bool(json, "gone", true);
    json_end(json);
}

/* Writes what the event says; NULL for one that is not told. */
static const char *put(struct events *events, struct json_out *json, const struct event *event,
                       struct subject *subject)
{
    switch (event->kind) {
    case EVENT_BUILD:
        *subject =
            (struct subject){event->build.id, event->build.branch, event->build.builder, false};
        site_put_build(events->site, json, &event->build);
        return "build";
    case EVENT_CHANGE:
        subject->branch = event->change.branch;
        show_change(json, &event->change);
        return "change";
    case EVENT_SLAVE:
        show_slave(json, &event->slave);
        return "slave";
    case EVENT_SLAVE_GONE:
        put_slave_gone(json, &event->slave);
        return "slave";
    case EVENT_POOL:
        show_pool(json, &event->pool);
        return "pool";
    case EVENT_CONFIG:
        subject->everybody = true;
        json_object(json);
        json_kv_str(json, "error", event->text);
        json_end(json);
        return "config";
    case EVENT_POOL_GONE:
    case EVENT_HEALTH:
    case EVENT_POINTS:
    case EVENT_STEP:
    case EVENT_LOG:
        break;
    }
    return NULL;
}

void events_publish(struct events *events, const struct event *event)
{
    struct subject subject = {.build = 0};
    struct answer answer;
    const char *name;

    if (!events->readers)
        return;
    if (event->kind == EVENT_LOG) {
        publish_log(events, event);
        return;
    }
    if (event->kind == EVENT_STEP) {
        publish_step(events, event);
        return;
    }
    answer_begin(&answer);
    name = put(events, &answer.json, event, &subject);
    if (name)
        tell(events, name, &answer, &subject);
    answer_drop(&answer);
}

/* ---- readers come and go ---- */

static void say_hello(struct events *events, struct reader_end *reader)
{
    struct site *site = events->site;
    struct answer answer;
    struct frame *frame;

    answer_begin(&answer);
    json_object(&answer.json);
    json_kv_time(&answer.json, "now", loop_wall_ms(&site->loop));
    json_kv_str(&answer.json, "title", site->mirror.config->title);
    json_end(&answer.json);
    frame = frame_new(events, "hello", &answer.body);
    reader_push(reader, frame, loop_now_ms(&site->loop));
    frame_unref(frame);
    answer_drop(&answer);
}

void events_subscribe(struct events *events, struct request *request,
                      const struct events_filter *filter)
{
    struct reader_end *reader = xcalloc(1, sizeof *reader);
    const struct request_stream stream = {
        .size = STREAM_SIZE_UNKNOWN, .read = reader_read, .free = reader_free, .arg = reader};

    reader->events = events;
    reader->request = request;
    reader->build = filter->build;
    reader->branch = filter->branch ? xstrdup(filter->branch) : NULL;
    reader->builder = filter->builder ? xstrdup(filter->builder) : NULL;
    DL_APPEND(events->readers, reader);
    events->site->n_streams++;
    request_on_gone(request, on_gone, reader);
    say_hello(events, reader);
    request_set_header(request, "Content-Type", "text/event-stream");
    request_set_header(request, "Cache-Control", "no-store");
    request_set_header(request, "X-Accel-Buffering", "no");
    answer_add_careful(request);
    request_answer_stream(request, 200, &stream);
}

void events_patrol(struct events *events)
{
    uint64_t now_ms = loop_now_ms(&events->site->loop);
    struct frame *alive = xcalloc(1, sizeof *alive);
    struct reader_end *reader;

    alive->refs = 1;
    alive->bytes = xstrdup(": alive\n\n");
    alive->n = strlen(alive->bytes);
    DL_FOREACH (events->readers, reader) {
        if (request_is_left(reader->request)) {
            reader->cut = true;
            request_wake(reader->request);
        } else if (now_ms - reader->heard_ms >= EVENTS_ALIVE_MS) {
            reader_push(reader, alive, now_ms);
        }
    }
    frame_unref(alive);
}

void events_stop(struct events *events)
{
    struct reader_end *reader;

    timer_stop(&events->tell);
    DL_FOREACH (events->readers, reader) {
        reader->ended = true;
        request_wake(reader->request);
    }
}

struct events *events_new(struct site *site)
{
    struct events *events = xcalloc(1, sizeof *events);

    events->site = site;
    timer_init(&events->tell, &site->loop, on_tell, events);
    return events;
}

void events_free(struct events *events)
{
    if (!events)
        return;
    timer_stop(&events->tell);
    while (events->growths)
        forget_growth(events, events->growths);
    free(events);
}
