/* Acting: the commands that reach the loop, what becomes of its answers, and who may not. */
#include "tests/unit/master/http/web_rig.h"

static const char token[] = "Authorization: Bearer correct-horse-battery\r\n";

/* Sends a POST below /api/v1 whose command the test answers. */
struct post {
    struct client *client;
    struct command *command;
};

static struct post begin(struct web_rig *w, const char *path, const char *headers, const char *body,
                         enum command_kind kind)
{
    struct post post = {.client = client_open(w)};
    char *whole = xasprintf("/api/v1%s", path);

    client_ask(post.client, "POST", whole, headers, body);
    post.command = take_command(w, kind);
    free(whole);
    return post;
}

static struct reply end(struct web_rig *w, struct post *post)
{
    struct reply reply;

    web_post_answer(w->web, post->command);
    reply = client_reply(post->client, false);
    client_close(post->client);
    return reply;
}

static struct reply post(struct web_rig *w, const char *path, const char *headers, const char *body)
{
    char *whole = xasprintf("/api/v1%s", path);
    struct reply reply = fetch(w, "POST", whole, headers, body);

    free(whole);
    return reply;
}

static void test_force(void **state)
{
    struct web_rig *w = *state;
    struct post p = begin(w, "/force", "Idempotency-Key: k-1\r\n",
                          "{\"builder\": \"unit\", \"branch\": \"main\", \"revision\": \"abc\","
                          " \"reason\": \"because\", \"author\": \"me\", \"priority\": \"low\"}",
                          COMMAND_FORCE);
    struct reply reply;

    assert_string_equal(p.command->name, "unit");
    assert_string_equal(p.command->branch, "main");
    assert_string_equal(p.command->revision, "abc");
    assert_string_equal(p.command->reason, "because");
    assert_string_equal(p.command->author, "me");
    assert_true(p.command->has_priority);
    assert_int_equal(p.command->priority, PRIORITY_LOW);
    assert_string_equal(p.command->idempotency_key, "k-1");
    fill_build(&p.command->build, 1, "unit", "main");
    reply = end(w, &p);
    assert_int_equal(reply.status, 201);
    reply_parse(&reply);
    assert_int_equal(json_get_int(reply.json, "id", 0), 1);
    assert_null(json_get(reply.json, "already"));
    assert_non_null(strstr(json_get_text(reply.json, "url"), "/builds/1"));
    reply_release(&reply);
}

static void test_force_twice(void **state)
{
    struct web_rig *w = *state;
    struct post p;
    struct reply reply;

    make_build(w, 1, "unit", "main");
    p = begin(w, "/force", "", "{\"builder\": \"unit\"}", COMMAND_FORCE);
    assert_null(p.command->branch);
    assert_false(p.command->has_priority);
    assert_null(p.command->idempotency_key);
    p.command->already = true;
    p.command->build.id = 1;
    reply = end(w, &p);
    assert_int_equal(reply.status, 200);
    reply_parse(&reply);
    assert_string_equal(json_get_text(reply.json, "builder"), "unit");
    assert_true(json_truth(json_get(reply.json, "already"), false));
    reply_release(&reply);
}

static void test_errors_of_the_loop(void **state)
{
    static const struct {
        enum err_code code;
        int status;
        const char *word;
    } cases[] = {
        {ERR_NOTFOUND, 404, "notfound"}, {ERR_CONFIG, 400, "config"}, {ERR_EXISTS, 409, "exists"},
        {ERR_NOSPACE, 503, "nospace"},   {ERR_LIMIT, 413, "limit"},   {ERR_AUTH, 403, "auth"},
    };
    struct web_rig *w = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct post p = begin(w, "/force", "", "{\"builder\": \"unit\"}", COMMAND_FORCE);
        struct reply reply;

        (void)err_set(&p.command->err, cases[i].code, "sentence %zu", i);
        reply = end(w, &p);
        expect_error(&reply, cases[i].status, cases[i].word, "sentence");
    }
}

static void test_bad_bodies(void **state)
{
    static const struct {
        const char *path, *body, *part;
        int status;
    } cases[] = {
        {"/force", "", "builder is missing", 400},
        {"/force", "{}", "builder is missing", 400},
        {"/force", "{\"builder\": \"\"}", "builder is missing", 400},
        {"/force", "{\"builder\": 3}", "builder: expected a text", 400},
        {"/force", "{\"builder\": \"unit\", \"brnch\": \"x\"}", "unknown key \"brnch\"", 400},
        {"/force", "{\"builder\": \"unit\", \"priority\": \"urgent\"}", "high, normal or low", 400},
        {"/force", "{\"builder\": \"unit\", \"priority\": 1}", "high, normal or low", 400},
        {"/force", "{\"builder\": \"a\", \"builder\": \"b\"}", "not JSON", 400},
        {"/force", "[]", "not an object", 400},
        {"/force", "{", "not JSON", 400},
        {"/force", "{\"builder\": \"\xff\"}", "not JSON", 400},
        {"/changes", "{\"project\": \"sds\", \"branch\": \"main\"}", "revision is missing", 400},
        {"/changes", "{\"project\":\"s\",\"branch\":\"m\",\"revision\":\"r\",\"files\":\"x\"}",
         "files: expected a list", 400},
        {"/changes", "{\"project\":\"s\",\"branch\":\"m\",\"revision\":\"r\",\"files\":[1]}",
         "entry 1", 400},
        {"/slaves/linux-1/drain", "{\"why\": \"x\"}", "expected reason", 400},
        {"/reload", "{\"reason\": \"x\"}", "expected none", 400},
        {"/builds/1/cancel", "{\"reason\": []}", "reason: expected a text", 400},
    };
    struct web_rig *w = *state;
    struct reply reply;
    char *body = xmalloc(6000);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reply = post(w, cases[i].path, "", cases[i].body);
        expect_error(&reply, cases[i].status, "config", cases[i].part);
    }
    memset(body, 'x', 6000);
    memcpy(body, "{\"builder\": \"", 13);
    memcpy(body + 5000, "\"}", 3);
    reply = post(w, "/force", "", body);
    expect_error(&reply, 413, "limit", "at most 4096");
    free(body);
    reply = post(w, "/force?x=1", "", "{\"builder\": \"unit\"}");
    expect_error(&reply, 400, "config", "unknown parameter");
}

static void test_idempotency_keys(void **state)
{
    struct web_rig *w = *state;
    char key[200];
    struct reply reply;
    char *header;

    memset(key, 'k', sizeof key);
    key[129] = '\0';
    header = xasprintf("Idempotency-Key: %s\r\n", key);
    reply = post(w, "/force", header, "{\"builder\": \"unit\"}");
    expect_error(&reply, 400, "config", "1 to 128");
    free(header);
    reply = post(w, "/force", "Idempotency-Key: \r\n", "{\"builder\": \"unit\"}");
    expect_error(&reply, 400, "config", "1 to 128");
    reply = post(w, "/force", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n",
                 "{\"builder\": \"unit\"}");
    expect_error(&reply, 400, "config", "twice");
}

static void test_change(void **state)
{
    struct web_rig *w = *state;
    struct post p = begin(w, "/changes", "",
                          "{\"project\": \"sds\", \"branch\": \"main\", \"revision\": \"abc\","
                          " \"author\": \"me\", \"comment\": \"c\", \"files\": [\"a\", \"b\"]}",
                          COMMAND_CHANGE);
    struct change_info *asked = &p.command->change_asked;
    struct store_op *op;
    struct reply reply;

    assert_string_equal(asked->project, "sds");
    assert_string_equal(asked->revision, "abc");
    assert_int_equal(asked->files.n, 2);
    change_info_copy(&p.command->change, asked);
    p.command->change.id = 1;
    p.command->change.set_id = 1;
    p.command->build_ids = xcalloc(2, sizeof *p.command->build_ids);
    p.command->build_ids[0] = 11;
    p.command->build_ids[1] = 12;
    p.command->n_build_ids = 2;
    reply = end(w, &p);
    assert_int_equal(reply.status, 201);
    reply_parse(&reply);
    assert_int_equal(json_get_int(reply.json, "set", 0), 1);
    assert_int_equal(json_int(json_at(json_get(reply.json, "builds"), 1), 0), 12);
    reply_release(&reply);

    op = create_op(&w->rig, 1, "unit", "main");
    op->change = (struct change_info){.id = 1,
                                      .set_id = 1,
                                      .project = xstrdup("sds"),
                                      .branch = xstrdup("main"),
                                      .revision = xstrdup("abc"),
                                      .at_ms = 5};
    store_post(w->rig.store, op);
    rig_wait(&w->rig);
    p = begin(w, "/changes", "",
              "{\"project\": \"sds\", \"branch\": \"main\", \"revision\": \"abc\"}",
              COMMAND_CHANGE);
    p.command->already = true;
    p.command->change.id = 1;
    p.command->change.set_id = 1;
    reply = end(w, &p);
    assert_int_equal(reply.status, 200);
    reply_parse(&reply);
    assert_string_equal(json_get_text(reply.json, "revision"), "abc");
    assert_int_equal(json_int(json_at(json_get(reply.json, "builds"), 0), 0), 1);
    reply_release(&reply);
}

static void test_cancel(void **state)
{
    struct web_rig *w = *state;
    struct post p;
    struct reply reply;

    make_build(w, 1, "unit", "main");
    p = begin(w, "/builds/1/cancel", "", "{\"reason\": \"wrong branch\"}", COMMAND_CANCEL);
    assert_int_equal(p.command->build_id, 1);
    assert_string_equal(p.command->reason, "wrong branch");
    fill_build(&p.command->build, 1, "unit", "main");
    reply = end(w, &p);
    assert_int_equal(reply.status, 200);
    reply_release(&reply);

    p = begin(w, "/builds/1/cancel", "", NULL, COMMAND_CANCEL);
    assert_null(p.command->reason);
    p.command->already = true;
    p.command->build.id = 1;
    reply = end(w, &p);
    assert_int_equal(reply.status, 200);
    reply_parse(&reply);
    assert_true(json_truth(json_get(reply.json, "already"), false));
    reply_release(&reply);

    p = begin(w, "/builds/1/cancel", "", "{}", COMMAND_CANCEL);
    (void)err_set(&p.command->err, ERR_NOTFOUND, "no unfinished build");
    reply = end(w, &p);
    expect_error(&reply, 409, "exists", "finished already");

    p = begin(w, "/builds/99/cancel", "", "{}", COMMAND_CANCEL);
    (void)err_set(&p.command->err, ERR_NOTFOUND, "no unfinished build");
    reply = end(w, &p);
    expect_error(&reply, 404, "notfound", "99");
}

static void test_rebuild(void **state)
{
    struct web_rig *w = *state;
    struct post p;
    struct reply reply;

    make_finished(w, 1, RESULT_FAILURE);
    p = begin(w, "/builds/1/rebuild", "Idempotency-Key: again\r\n", NULL, COMMAND_REBUILD);
    assert_int_equal(p.command->build_id, 1);
    assert_string_equal(p.command->name, "unit");
    assert_string_equal(p.command->branch, "main");
    assert_null(p.command->revision);
    assert_string_equal(p.command->reason, "rebuild of build 1");
    assert_string_equal(p.command->idempotency_key, "again");
    fill_build(&p.command->build, 2, "unit", "main");
    reply = end(w, &p);
    assert_int_equal(reply.status, 201);
    reply_release(&reply);
    reply = post(w, "/builds/7/rebuild", "", NULL);
    expect_error(&reply, 404, "notfound", "7");
    reply = post(w, "/builds/seven/rebuild", "", NULL);
    expect_error(&reply, 404, "notfound", "seven");
}

static void test_slaves_and_pools(void **state)
{
    struct web_rig *w = *state;
    struct post p =
        begin(w, "/slaves/linux-1/drain", "", "{\"reason\": \"disk\"}", COMMAND_SLAVE_DRAIN);
    struct reply reply;

    assert_string_equal(p.command->name, "linux-1");
    assert_string_equal(p.command->reason, "disk");
    p.command->slave.name = xstrdup("linux-1");
    p.command->slave.state = SLAVE_DRAINING;
    reply = end(w, &p);
    assert_int_equal(reply.status, 200);
    reply_parse(&reply);
    assert_string_equal(json_get_text(reply.json, "state"), "draining");
    reply_release(&reply);
    p = begin(w, "/slaves/linux%2D1/resume", "", NULL, COMMAND_SLAVE_RESUME);
    assert_string_equal(p.command->name, "linux-1");
    (void)err_set(&p.command->err, ERR_NOTFOUND, "there is no slave linux-1");
    reply = end(w, &p);
    expect_error(&reply, 404, "notfound", "linux-1");
    p = begin(w, "/pools/linux/pause", "", "{}", COMMAND_POOL_PAUSE);
    p.command->pool.name = xstrdup("linux");
    p.command->pool.paused = true;
    reply = end(w, &p);
    reply_parse(&reply);
    assert_true(json_truth(json_get(reply.json, "paused"), false));
    reply_release(&reply);
    p = begin(w, "/pools/linux/resume", "", NULL, COMMAND_POOL_RESUME);
    p.command->pool.name = xstrdup("linux");
    reply = end(w, &p);
    assert_int_equal(reply.status, 200);
    reply_release(&reply);
}

static void test_reload(void **state)
{
    struct web_rig *w = *state;
    struct post p = begin(w, "/reload", "", NULL, COMMAND_RELOAD);
    struct reply reply;

    vec_push(&p.command->added, xstrdup("builder new"));
    vec_push(&p.command->draining, xstrdup("linux-9"));
    reply = end(w, &p);
    assert_int_equal(reply.status, 200);
    reply_parse(&reply);
    assert_string_equal(json_text(json_at(json_get(reply.json, "added"), 0)), "builder new");
    assert_int_equal(json_len(json_get(reply.json, "removed")), 0);
    assert_true(json_is_array(json_get(reply.json, "removed")));
    reply_release(&reply);
    p = begin(w, "/reload", "", "{}", COMMAND_RELOAD);
    (void)err_set(&p.command->err, ERR_CONFIG, "2 errors");
    vec_push(&p.command->errors, xstrdup("master.yaml:3:1: unknown key"));
    vec_push(&p.command->errors, xstrdup("master.yaml:4:1: unknown key"));
    reply = end(w, &p);
    assert_int_equal(reply.status, 422);
    reply_parse(&reply);
    assert_int_equal(json_len(json_get(reply.json, "errors")), 2);
    assert_string_equal(json_get_text(json_get(reply.json, "error"), "message"), "2 errors");
    reply_release(&reply);
}

/* ---- who may not ---- */

static void refused(struct web_rig *w, const char *request, int status, const char *part)
{
    struct client *client = client_open(w);
    struct reply reply;

    client_put(client, request);
    reply = client_reply(client, false);
    expect_error(&reply, status, status == 415 ? "type" : "auth", part);
    client_close(client);
}

static void test_cross_site(void **state)
{
    struct web_rig *w = *state;
    struct post p;
    struct reply reply;
    char *own;

    refused(w,
            "POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Origin: http://evil.example\r\n\r\n",
            403, "another site");
    refused(w, "POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: null\r\n\r\n", 403,
            "another site");
    refused(w,
            "POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Sec-Fetch-Site: cross-site\r\n\r\n",
            403, "another site");
    refused(w, "POST /api/v1/reload HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403, "Host");
    refused(w,
            "POST /api/v1/reload HTTP/1.1\r\nHost: evil.example\r\n"
            "Origin: http://evil.example\r\n\r\n",
            403, "Host");
    refused(w,
            "POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n"
            "Content-Length: 2\r\n\r\n{}",
            415, "application/json");
    refused(w, "POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\n{}",
            415, "application/json");
    own = xasprintf("POST /api/v1/reload HTTP/1.1\r\nHost: localhost:%u\r\n"
                    "Origin: http://localhost:%u\r\nSec-Fetch-Site: same-origin\r\n\r\n",
                    web_port(w->web), web_port(w->web));
    p.client = client_open(w);
    client_put(p.client, own);
    p.command = take_command(w, COMMAND_RELOAD);
    reply = end(w, &p);
    assert_int_equal(reply.status, 200);
    reply_release(&reply);
    free(own);
}

static int setup_tokens(void **state)
{
    char path[] = "/tmp/tailrace-token-XXXXXX";
    int fd = mkstemp(path);
    char *more = xasprintf("  token_file: %s\n", path);
    int rc;

    assert_true(fd >= 0);
    assert_int_equal(fs_write_all(fd, "correct-horse-battery\n", 22, NULL), ERR_OK);
    (void)close(fd);
    rc = web_rig_setup_with(state, more);
    (void)unlink(path);
    free(more);
    return rc;
}

static void test_tokens(void **state)
{
    struct web_rig *w = *state;
    struct reply reply = post(w, "/reload", "", NULL);
    struct post p;

    assert_string_equal(reply_header(&reply, "WWW-Authenticate"), "Bearer");
    expect_error(&reply, 401, "auth", "needs a token");
    reply = post(w, "/reload", "Authorization: Bearer correct-horse-batterz\r\n", NULL);
    expect_error(&reply, 401, "auth", "may not");
    reply = post(w, "/reload", "Authorization: Bearer \r\n", NULL);
    expect_error(&reply, 401, "auth", "may not");
    reply = post(w, "/reload", "Authorization: Basic correct-horse-battery\r\n", NULL);
    expect_error(&reply, 401, "auth", "may not");
    reply = post(w, "/reload", "Authorization: correct-horse-battery\r\n", NULL);
    expect_error(&reply, 401, "auth", "may not");
    p = begin(w, "/reload", token, NULL, COMMAND_RELOAD);
    reply = end(w, &p);
    assert_int_equal(reply.status, 200);
    reply_release(&reply);
    reply = get_json(w, "/status"); /* reading is open */
    reply_release(&reply);
}

/* ---- askers that do not wait ---- */

static void test_asker_leaves(void **state)
{
    struct web_rig *w = *state;
    struct post posts[10];
    struct reply reply;

    for (size_t i = 0; i < 10; i++) {
        posts[i] = begin(w, "/force", "", "{\"builder\": \"unit\"}", COMMAND_FORCE);
        client_close(posts[i].client);
    }
    for (size_t i = 0; i < 10; i++) {
        fill_build(&posts[i].command->build, i + 1, "unit", "main");
        web_post_answer(w->web, posts[i].command);
    }
    reply = get_json(w, "/status");
    reply_release(&reply);
}

static void test_stop_while_asking(void **state)
{
    struct web_rig *w = *state;
    struct post p = begin(w, "/force", "", "{\"builder\": \"unit\"}", COMMAND_FORCE);
    struct post late = begin(w, "/reload", "", NULL, COMMAND_RELOAD);
    struct reply reply;

    web_post_answer(w->web, late.command);
    web_stop(w->web);
    w->web = NULL;
    reply = client_reply(p.client, false);
    expect_error(&reply, 503, "cancelled", "stopping");
    client_close(p.client);
    client_close(late.client);
    command_free(p.command);
}

int main(void)
{
#define ACT_TEST(name) cmocka_unit_test_setup_teardown(name, web_rig_setup, web_rig_teardown)
    const struct CMUnitTest tests[] = {
        ACT_TEST(test_force),
        ACT_TEST(test_force_twice),
        ACT_TEST(test_errors_of_the_loop),
        ACT_TEST(test_bad_bodies),
        ACT_TEST(test_idempotency_keys),
        ACT_TEST(test_change),
        ACT_TEST(test_cancel),
        ACT_TEST(test_rebuild),
        ACT_TEST(test_slaves_and_pools),
        ACT_TEST(test_reload),
        ACT_TEST(test_cross_site),
        cmocka_unit_test_setup_teardown(test_tokens, setup_tokens, web_rig_teardown),
        ACT_TEST(test_asker_leaves),
        ACT_TEST(test_stop_while_asking),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
