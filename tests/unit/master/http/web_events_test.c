/* Server-sent events: what is told to whom, how often, and who is cut off. */
#include "tests/unit/master/http/web_rig.h"

struct stream {
    struct client *client;
    struct reply reply;
    size_t taken; /* bytes of the body that were read as events */
};

/* One event; name and data are owned. */
struct heard {
    char *name, *data;
    uint64_t id;
};

static void stream_close(struct stream *stream)
{
    client_close(stream->client);
    reply_release(&stream->reply);
}

/* A line of the stream, borrowed until the next; NULL at its end. */
static char *stream_line(struct stream *stream)
{
    struct reply *reply = &stream->reply;
    char *end;

    while (!(end = memchr(reply->body + stream->taken, '\n', reply->n - stream->taken))) {
        if (!reply_chunk(reply, stream->client))
            return NULL;
    }
    *end = '\0';
    end = reply->body + stream->taken;
    stream->taken += strlen(end) + 1;
    return end;
}

static struct heard stream_next(struct stream *stream)
{
    struct heard heard = {NULL, NULL, 0};
    char *line;

    while ((line = stream_line(stream))) {
        if (strncmp(line, "id: ", 4) == 0)
            heard.id = strtoull(line + 4, NULL, 10);
        else if (strncmp(line, "event: ", 7) == 0)
            heard.name = xstrdup(line + 7);
        else if (strncmp(line, "data: ", 6) == 0)
            heard.data = xstrdup(line + 6);
        else if (*line == '\0' && heard.name)
            return heard;
    }
    return heard;
}

/* The next event must have that name; its data, read, is the caller's. */
static struct json *expect(struct stream *stream, const char *name, uint64_t *id)
{
    struct heard heard = stream_next(stream);
    struct json *json = NULL;

    assert_non_null(heard.name);
    assert_string_equal(heard.name, name);
    assert_int_equal(json_parse(view_of(heard.data), &json, NULL), ERR_OK);
    if (id) {
        assert_true(heard.id > *id);
        *id = heard.id;
    }
    free(heard.name);
    free(heard.data);
    return json;
}

static void pass(struct stream *stream, const char *name)
{
    json_free(expect(stream, name, NULL));
}

static struct stream subscribe(struct web_rig *w, const char *query)
{
    struct stream stream = {.client = client_open(w)};
    char *path = xasprintf("/api/v1/events%s", query);

    client_ask(stream.client, "GET", path, "", NULL);
    stream.reply = client_head(stream.client);
    assert_int_equal(stream.reply.status, 200);
    assert_string_equal(reply_header(&stream.reply, "Content-Type"), "text/event-stream");
    free(path);
    return stream;
}

static void tell_new_build(struct web_rig *w, uint64_t id, const char *builder, const char *branch)
{
    struct build_info build;

    fill_build(&build, id, builder, branch);
    tell_build(w, &build);
    build_info_release(&build);
}

static void test_all_kinds(void **state)
{
    struct web_rig *w = *state;
    struct stream stream = subscribe(w, "");
    struct event *event;
    struct json *json;
    uint64_t id = 0;

    json = expect(&stream, "hello", &id);
    assert_string_equal(json_get_text(json, "title"), "Test CI");
    assert_non_null(json_get_text(json, "now"));
    json_free(json);
    make_running(w, 1);
    tell_stored_build(w, 1);
    json = expect(&stream, "build", &id);
    assert_int_equal(json_get_int(json, "id", 0), 1);
    assert_true(json_is_null(json_get(json, "steps")));
    json_free(json);
    tell_step(w, 1, 2);
    json = expect(&stream, "step", &id);
    assert_int_equal(json_get_int(json, "build", 0), 1);
    assert_int_equal(json_get_int(json, "attempt", 0), 1);
    assert_string_equal(json_get_text(json_get(json, "step"), "name"), "step-2");
    json_free(json);
    tell_slave(w, "linux-1", "linux", SLAVE_IDLE, 0);
    json = expect(&stream, "slave", &id);
    assert_string_equal(json_get_text(json, "name"), "linux-1");
    json_free(json);
    tell_pool(w, "linux", true);
    json = expect(&stream, "pool", &id);
    assert_true(json_truth(json_get(json, "paused"), false));
    json_free(json);
    event = event_new(EVENT_CHANGE);
    event->change.id = 5;
    event->change.branch = xstrdup("main");
    event->change.comment = xstrdup("two\nlines");
    web_post_event(w->web, event);
    json = expect(&stream, "change", &id);
    assert_string_equal(json_get_text(json, "comment"), "two\nlines");
    json_free(json);
    event = event_new(EVENT_CONFIG);
    event->config = config_ref(w->config);
    event->text = xstrdup("bad");
    web_post_event(w->web, event);
    json = expect(&stream, "config", &id);
    assert_string_equal(json_get_text(json, "error"), "bad");
    json_free(json);
    stream_close(&stream);
}

static void test_filters(void **state)
{
    struct web_rig *w = *state;
    struct stream by_id = subscribe(w, "?build=2");
    struct stream by_branch = subscribe(w, "?branch=release-1");
    struct stream by_builder = subscribe(w, "?builder=bench");
    struct stream by_both = subscribe(w, "?builder=unit&branch=release-1");
    struct json *json;

    pass(&by_id, "hello");
    pass(&by_branch, "hello");
    pass(&by_builder, "hello");
    pass(&by_both, "hello");
    make_running(w, 1);
    tell_stored_build(w, 1);
    tell_step(w, 1, 1);
    tell_log(w, 1, 1);
    tell_slave(w, "linux-1", "linux", SLAVE_IDLE, 0);
    tell_new_build(w, 2, "bench", "main");
    tell_new_build(w, 3, "bench", "release-1");
    tell_new_build(w, 4, "unit", "release-1");
    json = expect(&by_id, "build", NULL);
    assert_int_equal(json_get_int(json, "id", 0), 2);
    json_free(json);
    json = expect(&by_branch, "build", NULL);
    assert_int_equal(json_get_int(json, "id", 0), 3);
    json_free(json);
    json = expect(&by_builder, "build", NULL);
    assert_int_equal(json_get_int(json, "id", 0), 2);
    json_free(json);
    json = expect(&by_both, "build", NULL);
    assert_int_equal(json_get_int(json, "id", 0), 4);
    json_free(json);
    stream_close(&by_id);
    stream_close(&by_branch);
    stream_close(&by_builder);
    stream_close(&by_both);
    get_error(w, "/api/v1/events?build=x", 400, "config", "build");
    get_error(w, "/api/v1/events?since=1", 400, "config", "since");
}

/* However often a log grows, its readers hear of it ten times a second, and of its last size. */
static void test_log_events_are_joined(void **state)
{
    struct web_rig *w = *state;
    struct stream stream = subscribe(w, "?build=1");
    const struct clock *clock = clock_system();
    uint64_t begun_ms = clock_mono_ms(clock);
    uint64_t bytes = 0;
    unsigned n = 0;

    pass(&stream, "hello");
    for (uint64_t i = 1; i <= 1000; i++) {
        struct event *event = event_new(EVENT_LOG);

        event->build_id = 1;
        event->attempt = 1;
        event->step.number = 1;
        event->step.log[0].bytes = i * 10;
        event->step.log[0].lines = i;
        web_post_event(w->web, event);
    }
    while (bytes < 10000) {
        struct json *json = expect(&stream, "log", NULL);

        bytes = (uint64_t)json_get_int(json, "bytes", 0);
        assert_int_equal(json_get_int(json, "lines", 0), bytes / 10);
        n++;
        json_free(json);
    }
    assert_true(n <= 2 + (clock_mono_ms(clock) - begun_ms) / 100);
    stream_close(&stream);
}

/* Nothing is told about a log that the step's own event has told already. */
static void test_step_ends_its_log(void **state)
{
    struct web_rig *w = *state;
    struct stream stream = subscribe(w, "?build=1");
    struct json *json;

    pass(&stream, "hello");
    make_running(w, 1);
    tell_log(w, 1, 1);
    tell_log(w, 1, 1);
    tell_step(w, 1, 1);
    tell_new_build(w, 1, "unit", "main");
    pass(&stream, "log");
    pass(&stream, "step");
    json = expect(&stream, "build", NULL);
    json_free(json);
    stream_close(&stream);
}

static void test_many_readers(void **state)
{
    enum { READERS = 300 };
    struct web_rig *w = *state;
    struct stream *streams = xcalloc(READERS, sizeof *streams);

    for (size_t i = 0; i < READERS; i++)
        streams[i] = subscribe(w, "");
    for (uint64_t id = 1; id <= 20; id++)
        tell_new_build(w, id, "unit", "main");
    for (size_t i = 0; i < READERS; i++) {
        uint64_t last = 0;

        pass(&streams[i], "hello");
        for (int64_t id = 1; id <= 20; id++) {
            struct json *json = expect(&streams[i], "build", &last);

            assert_int_equal(json_get_int(json, "id", 0), id);
            json_free(json);
        }
        stream_close(&streams[i]);
    }
    free(streams);
    web_rig_sync(w);
}

/* One that does not read is cut; one that does gets everything. */
static void test_slow_reader(void **state)
{
    struct web_rig *w = *state;
    struct stream slow = subscribe(w, "");
    struct stream fast = subscribe(w, "");
    char *reason = xmalloc(4001);
    struct heard heard;
    unsigned n = 0;

    memset(reason, 'r', 4000);
    reason[4000] = '\0';
    pass(&slow, "hello");
    pass(&fast, "hello");
    for (uint64_t id = 1; id <= 3000; id++) {
        struct build_info build;
        struct json *json;

        fill_build(&build, id, "unit", "main");
        free(build.reason);
        build.reason = xstrdup(reason);
        tell_build(w, &build);
        build_info_release(&build);
        json = expect(&fast, "build", NULL);
        assert_int_equal(json_get_int(json, "id", 0), id);
        json_free(json);
    }
    do {
        heard = stream_next(&slow);
        n += heard.name != NULL;
        free(heard.name);
        free(heard.data);
    } while (heard.name);
    assert_true(slow.reply.cut);
    assert_true(n < 3000);
    free(reason);
    stream_close(&slow);
    stream_close(&fast);
}

/* After such an event, streams of those who left are found out by writing to them. */
static void test_readers_leave(void **state)
{
    struct web_rig *w = *state;
    struct stream stays = subscribe(w, "");

    for (int i = 0; i < 50; i++) {
        struct stream stream = subscribe(w, "");

        stream_close(&stream);
    }
    pass(&stays, "hello");
    for (uint64_t id = 1; id <= 5; id++) {
        tell_new_build(w, id, "unit", "main");
        pass(&stays, "build");
    }
    stream_close(&stays);
}

static void test_stop_ends_streams(void **state)
{
    struct web_rig *w = *state;
    struct stream stream = subscribe(w, "");

    pass(&stream, "hello");
    web_stop(w->web);
    w->web = NULL;
    assert_null(stream_line(&stream));
    stream_close(&stream);
}

static void test_end_of_a_build_keeps_its_filter(void **state)
{
    struct web_rig *w = *state;
    struct stream stream = subscribe(w, "?branch=main");
    struct json *json;

    pass(&stream, "hello");
    make_finished(w, 1, RESULT_SUCCESS);
    tell_new_build(w, 1, "unit", "main");
    pass(&stream, "build");
    tell_step(w, 1, 3);
    pass(&stream, "step");
    tell_stored_build(w, 1);
    json = expect(&stream, "build", NULL);
    assert_string_equal(json_get_text(json, "result"), "success");
    json_free(json);
    stream_close(&stream);
}

int main(void)
{
#define EVENTS_TEST(name) cmocka_unit_test_setup_teardown(name, web_rig_setup, web_rig_teardown)
    const struct CMUnitTest tests[] = {
        EVENTS_TEST(test_all_kinds),
        EVENTS_TEST(test_filters),
        EVENTS_TEST(test_log_events_are_joined),
        EVENTS_TEST(test_step_ends_its_log),
        EVENTS_TEST(test_many_readers),
        EVENTS_TEST(test_slow_reader),
        EVENTS_TEST(test_readers_leave),
        EVENTS_TEST(test_stop_ends_streams),
        EVENTS_TEST(test_end_of_a_build_keeps_its_filter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
