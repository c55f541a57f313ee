/* What can be read over the API, from a store and from the loop's events. */
#include "tests/unit/master/http/web_rig.h"

static uint64_t first_id(const struct reply *reply, const char *list)
{
    return (uint64_t)json_get_int(json_at(json_get(reply->json, list), 0), "id", 0);
}

static void test_status(void **state)
{
    struct web_rig *w = *state;
    struct build_info build;
    struct reply reply;

    fill_build(&build, 7, "unit", "main");
    tell_build(w, &build);
    build_info_release(&build);
    tell_slave(w, "linux-1", "linux", SLAVE_IDLE, 0);
    tell_slave(w, "linux-2", "linux", SLAVE_OFFLINE, 0);
    tell_pool(w, "linux", true);
    web_rig_sync(w);
    reply = get_json(w, "/status");
    assert_string_equal(json_get_text(reply.json, "title"), "Test CI");
    assert_string_equal(json_get_text(reply.json, "version"), TAILRACE_VERSION);
    assert_string_equal(json_get_text(reply.json, "started_at"), "2023-11-14T22:13:20.000Z");
    assert_int_equal(json_get_int(reply.json, "builds_queued", -1), 1);
    assert_int_equal(json_get_int(reply.json, "builds_running", -1), 0);
    assert_int_equal(json_get_int(reply.json, "slaves_connected", -1), 1);
    assert_int_equal(json_get_int(reply.json, "slaves_known", -1), 2);
    assert_true(json_is_null(json_get(reply.json, "config_error")));
    assert_int_equal(json_len(json_get(reply.json, "pools")), 1);
    assert_string_equal(reply_header(&reply, "X-Content-Type-Options"), "nosniff");
    assert_string_equal(reply_header(&reply, "Cache-Control"), "no-store");
    reply_release(&reply);
}

static void test_errors_are_shown(void **state)
{
    struct web_rig *w = *state;
    struct event *event = event_new(EVENT_CONFIG);
    struct reply reply;

    event->config = config_ref(w->config);
    event->text = xstrdup("master.yaml:3:1: unknown key");
    web_post_event(w->web, event);
    event = event_new(EVENT_HEALTH);
    event->text = xstrdup("disk full");
    web_post_event(w->web, event);
    web_rig_sync(w);
    reply = get_json(w, "/status");
    assert_string_equal(json_get_text(reply.json, "config_error"), "master.yaml:3:1: unknown key");
    assert_string_equal(json_get_text(reply.json, "store_error"), "disk full");
    reply_release(&reply);
    event = event_new(EVENT_CONFIG);
    event->config = web_rig_config(w, "  url: https://ci.example.org/ci/\n");
    web_post_event(w->web, event);
    web_post_event(w->web, event_new(EVENT_HEALTH));
    web_rig_sync(w);
    reply = get_json(w, "/status");
    assert_true(json_is_null(json_get(reply.json, "config_error")));
    assert_true(json_is_null(json_get(reply.json, "store_error")));
    assert_string_equal(json_get_text(reply.json, "url"), "https://ci.example.org/ci/");
    reply_release(&reply);
}

static void test_builds_are_paged(void **state)
{
    struct web_rig *w = *state;
    struct reply reply;
    char path[128];
    int64_t next;

    for (uint64_t id = 1; id <= 5; id++)
        make_build(w, id, id % 2 ? "unit" : "bench", id == 5 ? "release-1" : "main");
    reply = get_json(w, "/builds?limit=2");
    assert_int_equal(json_len(json_get(reply.json, "builds")), 2);
    assert_int_equal(first_id(&reply, "builds"), 5);
    next = json_get_int(reply.json, "next", 0);
    assert_true(next > 0);
    reply_release(&reply);
    (void)snprintf(path, sizeof path, "/builds?limit=3&before=%" PRId64, next);
    reply = get_json(w, path);
    assert_int_equal(json_len(json_get(reply.json, "builds")), 3);
    assert_int_equal(first_id(&reply, "builds"), 3);
    reply_release(&reply);
    reply = get_json(w, "/builds?builder=unit&branch=release-1&state=queued");
    assert_int_equal(json_len(json_get(reply.json, "builds")), 1);
    assert_int_equal(first_id(&reply, "builds"), 5);
    assert_true(json_is_null(json_get(reply.json, "next")));
    reply_release(&reply);
    reply = get_json(w, "/builds?result=failure");
    assert_int_equal(json_len(json_get(reply.json, "builds")), 0);
    reply_release(&reply);
    reply = get_json(w, "/builds?set=4&project=sds");
    assert_int_equal(first_id(&reply, "builds"), 4);
    reply_release(&reply);
}

static void test_build_has_all_keys(void **state)
{
    static const char *const keys[] = {
        "id",         "set",        "builder",     "project",    "branch",   "revision", "state",
        "result",     "attempt",    "slave",       "pool",       "priority", "reason",   "author",
        "queued_at",  "started_at", "finished_at", "expected_s", "url",      "steps",    "note",
        "stands_for", "rebuild_of", "attempts",    "waits_for"};
    struct web_rig *w = *state;
    const struct json *step;
    struct reply reply;
    size_t n = 0;
    char url[64];
    struct msg msg;

    make_running(w, 1);
    msg = step_started(1);
    make_record(w, 1, 1, &msg);
    msg = step_finished(1, RESULT_FAILURE, 3);
    make_record(w, 1, 2, &msg);
    reply = get_json(w, "/builds/1");
    for (void *it = json_first(reply.json); it; it = json_next(reply.json, it))
        n++;
    assert_int_equal(n, sizeof keys / sizeof keys[0]);
    for (size_t i = 0; i < n; i++)
        assert_non_null(json_get(reply.json, keys[i]));
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/builds/1", web_port(w->web));
    assert_string_equal(json_get_text(reply.json, "url"), url);
    assert_true(json_is_null(json_get(reply.json, "revision")));
    assert_string_equal(json_get_text(reply.json, "state"), "running");
    assert_int_equal(json_len(json_get(reply.json, "steps")), 3);
    step = json_at(json_get(reply.json, "steps"), 0);
    assert_string_equal(json_get_text(step, "result"), "failure");
    assert_string_equal(json_get_text(step, "kind"), "build");
    assert_int_equal(json_get_int(step, "exit_code", 0), 3);
    assert_true(json_is_null(json_get(step, "log")));
    assert_int_equal(json_get_int(json_at(json_get(reply.json, "attempts"), 0), "attempt", 0), 1);
    reply_release(&reply);
    reply = get_json(w, "/builds/1/steps/2?attempt=1");
    assert_string_equal(json_get_text(reply.json, "state"), "waiting");
    reply_release(&reply);
    reply = get_json(w, "/builds");
    assert_true(json_is_null(json_get(json_at(json_get(reply.json, "builds"), 0), "steps")));
    reply_release(&reply);
}

static void test_points(void **state)
{
    struct web_rig *w = *state;
    const struct msg_point values[] = {
        {view_of("talos"), view_of("tp3"), view_of("load"), view_of("ms"), 1, 1, 204.5},
        {view_of("talos"), view_of("tp3"), view_of("load"), view_of("ms"), 1, 2, 206.25},
    };
    struct msg msg = {.type = REC_POINTS};
    const struct json *point;
    struct reply reply;

    make_running(w, 1);
    msg.u.points.step = 1;
    msg.u.points.points.v = values;
    msg.u.points.points.n = 2;
    make_record(w, 1, 1, &msg);
    reply = get_json(w, "/builds/1/points");
    assert_int_equal(json_len(json_get(reply.json, "points")), 2);
    point = json_at(json_get(reply.json, "points"), 1);
    assert_string_equal(json_get_text(point, "test"), "tp3");
    assert_string_equal(json_get_text(point, "better"), "lower");
    assert_int_equal(json_get_int(point, "iteration", 0), 2);
    assert_true(json_number(json_get(point, "value"), 0) == 206.25);
    reply_release(&reply);
    get_error(w, "/api/v1/builds/2/points", 404, "notfound", "");
}

static void test_builders(void **state)
{
    struct web_rig *w = *state;
    const struct json *builder;
    struct build_info build;
    struct reply reply;

    make_finished(w, 1, RESULT_SUCCESS);
    make_build(w, 2, "unit", "release-1");
    tell_stored_build(w, 1);
    tell_stored_build(w, 2);
    web_rig_sync(w);
    reply = get_json(w, "/builders");
    assert_int_equal(json_len(json_get(reply.json, "builders")), 3);
    builder = json_at(json_get(reply.json, "builders"), 0);
    assert_string_equal(json_get_text(builder, "name"), "unit");
    assert_int_equal(json_len(json_get(builder, "branches")), 2);
    assert_int_equal(json_len(json_get(builder, "kinds")), 3);
    assert_int_equal(json_len(json_get(builder, "last")), 2);
    assert_int_equal(json_get_int(json_at(json_get(builder, "last"), 0), "id", 0), 2);
    assert_true(json_number(json_get(builder, "expected_s"), 0) == 3.0);
    reply_release(&reply);
    /* An event makes a newer build of the same branch known, and one of a new branch. */
    fill_build(&build, 8, "unit", "main");
    tell_build(w, &build);
    build_info_release(&build);
    fill_build(&build, 9, "unit", "release-2");
    tell_build(w, &build);
    build_info_release(&build);
    web_rig_sync(w);
    reply = get_json(w, "/builders/unit");
    assert_int_equal(json_len(json_get(reply.json, "last")), 3);
    assert_int_equal(json_get_int(json_at(json_get(reply.json, "last"), 1), "id", 0), 8);
    assert_int_equal(json_len(json_get(reply.json, "steps")), 3);
    reply_release(&reply);
    reply = get_json(w, "/builders/bench");
    assert_string_equal(json_text(json_at(json_get(reply.json, "after"), 0)), "unit");
    assert_true(json_is_null(json_get(reply.json, "expected_s")));
    reply_release(&reply);
    reply = get_json(w, "/builders?limit=2");
    assert_string_equal(json_get_text(reply.json, "next"), "narrow");
    reply_release(&reply);
    reply = get_json(w, "/builders?limit=2&before=narrow");
    assert_int_equal(json_len(json_get(reply.json, "builders")), 1);
    assert_true(json_is_null(json_get(reply.json, "next")));
    reply_release(&reply);
}

static void test_slaves_and_pools(void **state)
{
    struct web_rig *w = *state;
    const struct json *slave;
    struct event *event;
    struct reply reply;

    tell_slave(w, "linux-2", "linux", SLAVE_BUSY, 7);
    tell_slave(w, "linux-1", "linux", SLAVE_OFFLINE, 0);
    tell_pool(w, "linux", false);
    web_rig_sync(w);
    reply = get_json(w, "/slaves");
    assert_int_equal(json_len(json_get(reply.json, "slaves")), 2);
    assert_string_equal(json_get_text(json_at(json_get(reply.json, "slaves"), 0), "name"),
                        "linux-1");
    slave = json_at(json_get(reply.json, "slaves"), 1);
    assert_string_equal(json_get_text(slave, "state"), "busy");
    assert_int_equal(json_int(json_at(json_get(slave, "builds"), 0), 0), 7);
    reply_release(&reply);
    reply = get_json(w, "/slaves?limit=1");
    assert_string_equal(json_get_text(reply.json, "next"), "linux-1");
    reply_release(&reply);
    reply = get_json(w, "/slaves?before=linux-1");
    assert_int_equal(json_len(json_get(reply.json, "slaves")), 1);
    reply_release(&reply);
    reply = get_json(w, "/slaves/linux-1");
    assert_true(json_is_null(json_get(reply.json, "connected_at")));
    reply_release(&reply);
    reply = get_json(w, "/pools");
    assert_string_equal(json_get_text(json_at(json_get(reply.json, "pools"), 0), "backlog"),
                        "fifo");
    reply_release(&reply);
    event = event_new(EVENT_SLAVE_GONE);
    event->slave.name = xstrdup("linux-1");
    web_post_event(w->web, event);
    event = event_new(EVENT_POOL_GONE);
    event->pool.name = xstrdup("linux");
    web_post_event(w->web, event);
    web_rig_sync(w);
    get_error(w, "/api/v1/slaves/linux-1", 404, "notfound", "linux-1");
    reply = get_json(w, "/pools");
    assert_int_equal(json_len(json_get(reply.json, "pools")), 0);
    reply_release(&reply);
}

static void test_sets_and_changes(void **state)
{
    struct web_rig *w = *state;
    struct store_op *op = create_op(&w->rig, 1, "unit", "main");
    struct reply reply;

    op->change = (struct change_info){.id = 1,
                                      .set_id = 1,
                                      .project = xstrdup("sds"),
                                      .branch = xstrdup("main"),
                                      .revision = xstrdup("abc"),
                                      .comment = xstrdup("\"quotes\" & <tags>"),
                                      .at_ms = 1700000000000};
    vec_push(&op->change.files, xstrdup("src/main.c"));
    store_post(w->rig.store, op);
    rig_wait(&w->rig);
    reply = get_json(w, "/sets/1");
    assert_string_equal(json_get_text(reply.json, "branch"), "main");
    assert_int_equal(json_len(json_get(reply.json, "builds")), 1);
    assert_true(json_is_null(json_get(reply.json, "finished_at")));
    reply_release(&reply);
    get_error(w, "/api/v1/sets/2", 404, "notfound", "");
    get_error(w, "/api/v1/sets/x", 404, "notfound", "x");
    reply = get_json(w, "/changes?project=sds&branch=main");
    assert_string_equal(json_get_text(json_at(json_get(reply.json, "changes"), 0), "comment"),
                        "\"quotes\" & <tags>");
    assert_int_equal(json_len(json_get(json_at(json_get(reply.json, "changes"), 0), "files")), 1);
    reply_release(&reply);
    reply = get_json(w, "/changes?branch=other");
    assert_int_equal(json_len(json_get(reply.json, "changes")), 0);
    reply_release(&reply);
}

static void test_queue(void **state)
{
    struct web_rig *w = *state;
    const struct json *entry;
    struct build_info build;
    struct reply reply;

    make_finished(w, 1, RESULT_SUCCESS); /* so that a build of unit is known to take 3 s */
    tell_stored_build(w, 1);
    for (uint64_t id = 2; id <= 4; id++) {
        fill_build(&build, id, "unit", "main");
        build.priority = id == 4 ? PRIORITY_HIGH : PRIORITY_NORMAL;
        tell_build(w, &build);
        build_info_release(&build);
    }
    web_rig_sync(w);
    reply = get_json(w, "/queue");
    assert_int_equal(json_len(json_get(reply.json, "queue")), 3);
    entry = json_at(json_get(reply.json, "queue"), 0);
    assert_int_equal(json_get_int(entry, "build", 0), 4);
    assert_int_equal(json_get_int(entry, "position", 0), 1);
    assert_string_equal(json_get_text(entry, "waits_for"), "no slave of pool linux is connected");
    assert_true(json_is_null(json_get(entry, "starts_at")));
    reply_release(&reply);
    tell_slave(w, "linux-1", "linux", SLAVE_IDLE, 0);
    web_rig_sync(w);
    reply = get_json(w, "/queue?pool=linux&limit=2");
    entry = json_at(json_get(reply.json, "queue"), 1);
    assert_int_equal(json_get_int(entry, "build", 0), 2);
    assert_string_equal(json_get_text(entry, "waits_for"), "2nd in pool linux, 0 slots of 2 busy");
    assert_false(json_is_null(json_get(entry, "starts_at")));
    assert_string_equal(json_get_text(reply.json, "next"), "linux:2");
    reply_release(&reply);
    reply = get_json(w, "/queue?before=linux:2");
    assert_int_equal(json_len(json_get(reply.json, "queue")), 1);
    reply_release(&reply);
    reply = get_json(w, "/queue?pool=talos");
    assert_int_equal(json_len(json_get(reply.json, "queue")), 0);
    reply_release(&reply);
}

static void test_bad_questions(void **state)
{
    struct web_rig *w = *state;

    get_error(w, "/api/v1/builds?limit=0", 400, "config", "limit");
    get_error(w, "/api/v1/builds?limit=1001", 400, "config", "1000");
    get_error(w, "/api/v1/builds?limit=ten", 400, "config", "'ten'");
    get_error(w, "/api/v1/builds?before=-1", 400, "config", "before");
    get_error(w, "/api/v1/builds?state=runing", 400, "config", "detached");
    get_error(w, "/api/v1/builds?result=good", 400, "config", "success");
    get_error(w, "/api/v1/builds?brnch=main", 400, "config", "branch");
    get_error(w, "/api/v1/status?x=1", 400, "config", "expected none");
    get_error(w, "/api/v1/builds?limit=1&limit=2", 400, "config", "twice");
    get_error(w, "/api/v1/builds?branch=%", 400, "config", "hexadecimal");
    get_error(w, "/api/v1/builds?branch=%00", 400, "config", "not text");
    get_error(w, "/api/v1/builds?branch=%ff", 400, "config", "not text");
    get_error(w, "/api/v1/queue?before=3", 400, "config", "cursor");
    get_error(w, "/api/v1/builders?before=gone", 400, "config", "gone");
    get_error(w, "/api/v1/builds/1", 404, "notfound", "1");
    get_error(w, "/api/v1/builds/0", 404, "notfound", "0");
    get_error(w, "/api/v1/builds/99999999999999999999", 404, "notfound", "");
    get_error(w, "/api/v1/builds/1x", 404, "notfound", "1x");
    get_error(w, "/api/v1/builds/1/steps/1", 404, "notfound", "");
    get_error(w, "/api/v1/builders/none", 404, "notfound", "none");
    get_error(w, "/api/v1/builds/", 404, "notfound", "");
    get_error(w, "/api/v2/builds", 404, "notfound", "/api/v2/builds");
    get_error(w, "/hooks/github/sds", 404, "notfound", "");
}

static void test_methods(void **state)
{
    struct web_rig *w = *state;
    struct reply reply = fetch(w, "POST", "/api/v1/builds", "", "{}");

    assert_string_equal(reply_header(&reply, "Allow"), "GET, HEAD");
    expect_error(&reply, 405, "method", "POST");
    reply = fetch(w, "GET", "/api/v1/force", "", NULL);
    assert_string_equal(reply_header(&reply, "Allow"), "POST");
    expect_error(&reply, 405, "method", "GET");
    reply = fetch(w, "DELETE", "/api/v1/changes", "", NULL);
    assert_string_equal(reply_header(&reply, "Allow"), "GET, HEAD, POST");
    expect_error(&reply, 405, "method", "DELETE");
    reply = fetch(w, "POST", "/", "", "{}");
    expect_error(&reply, 405, "method", "POST");
    reply = fetch(w, "HEAD", "/api/v1/status", "", NULL);
    assert_int_equal(reply.status, 200);
    assert_true(strtoul(reply_header(&reply, "Content-Length"), NULL, 10) > 100);
    reply_release(&reply);
    reply = fetch(w, "HEAD", "/api/v1/events", "", NULL);
    assert_int_equal(reply.status, 200);
    reply_release(&reply);
}

static void test_pages(void **state)
{
    struct web_rig *w = *state;
    struct reply reply = get(w, "/builds/12/steps/3?x=1");
    char *header;

    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "<html"));
    assert_non_null(strstr(reply_header(&reply, "Content-Security-Policy"), "default-src 'self'"));
    assert_string_equal(reply_header(&reply, "Referrer-Policy"), "same-origin");
    header = xasprintf("If-None-Match: \"x\", %s\r\n", reply_header(&reply, "ETag"));
    reply_release(&reply);
    reply = fetch(w, "GET", "/", header, NULL);
    assert_int_equal(reply.status, 304);
    reply_release(&reply);
    free(header);
    reply = get(w, "/style.css");
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply_header(&reply, "Content-Type"), "text/css"));
    reply_release(&reply);
    get_error(w, "/../etc/passwd", 404, "notfound", "");
    get_error(w, "/src/%2e%2e/main.js", 404, "notfound", "");
}

static void test_health(void **state)
{
    struct web_rig *w = *state;
    struct client *client = client_open(w);
    struct event *event = event_new(EVENT_HEALTH);
    struct reply reply;

    client_ask(client, "GET", "/healthz", "", NULL);
    web_post_answer(w->web, take_command(w, COMMAND_PROBE));
    reply = client_reply(client, false);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "ok\n");
    reply_release(&reply);
    event->text = xstrdup("no space left");
    web_post_event(w->web, event);
    client_ask(client, "GET", "/healthz", "", NULL);
    web_post_answer(w->web, take_command(w, COMMAND_PROBE));
    reply = client_reply(client, false);
    assert_int_equal(reply.status, 503);
    assert_string_equal(reply.body, "no space left\n");
    reply_release(&reply);
    /* A loop that does not answer in time. */
    client_ask(client, "GET", "/healthz", "", NULL);
    reply = client_reply(client, false);
    expect_error(&reply, 503, "timeout", "loop");
    web_post_answer(w->web, take_command(w, COMMAND_PROBE));
    client_close(client);
}

static void test_port_taken(void **state)
{
    struct web_rig *w = *state;
    char *more = xasprintf("  web: 127.0.0.1:%u\n", web_port(w->web));
    struct config config = {.web = more + 7, .data = w->rig.data};
    struct web_config web = {.config = &config, .data = w->rig.data};
    struct web *second = NULL;
    struct err err = ERR_INIT;

    more[strlen(more) - 1] = '\0';
    assert_int_equal(web_start(&web, &second, &err), ERR_IO);
    assert_non_null(strstr(err.msg, "cannot listen on 127.0.0.1"));
    assert_null(second);
    free(more);
}

int main(void)
{
#define WEB_TEST(name) cmocka_unit_test_setup_teardown(name, web_rig_setup, web_rig_teardown)
    const struct CMUnitTest tests[] = {
        WEB_TEST(test_status),
        WEB_TEST(test_errors_are_shown),
        WEB_TEST(test_builds_are_paged),
        WEB_TEST(test_build_has_all_keys),
        WEB_TEST(test_points),
        WEB_TEST(test_builders),
        WEB_TEST(test_slaves_and_pools),
        WEB_TEST(test_sets_and_changes),
        WEB_TEST(test_queue),
        WEB_TEST(test_bad_questions),
        WEB_TEST(test_methods),
        WEB_TEST(test_pages),
        WEB_TEST(test_health),
        WEB_TEST(test_port_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
