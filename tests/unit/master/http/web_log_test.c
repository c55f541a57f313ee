/* Logs over HTTP: whole, in part, by lines, compressed, and while they grow. */
#include "tests/unit/master/http/web_rig.h"

static const char path_of_log[] = "/api/v1/builds/1/steps/1/log";

struct log_rig {
    struct web_rig *w;
    struct cutter *cutter;
    uint64_t number; /* of the newest record */
    struct str text; /* all that was written */
};

static int setup(void **state)
{
    struct log_rig *l = xcalloc(1, sizeof *l);
    void *w = NULL;
    struct msg msg = step_started(1);

    assert_int_equal(web_rig_setup(&w), 0);
    l->w = w;
    l->cutter = cutter_new();
    l->text = (struct str)STR_INIT(64 << 20);
    make_running(l->w, 1);
    make_record(l->w, 1, ++l->number, &msg);
    *state = l;
    return 0;
}

static int teardown(void **state)
{
    struct log_rig *l = *state;
    void *w = l->w;

    web_rig_teardown(&w);
    cutter_free(l->cutter);
    str_release(&l->text);
    free(l);
    return 0;
}

static void write_bytes(struct log_rig *l, const char *bytes, size_t n)
{
    struct msg msg = {.type = REC_LOG_BLOCK};

    msg.u.log_block = cutter_cut(l->cutter, bytes, n);
    post_record(&l->w->rig, 1, ++l->number, &msg);
    rig_wait(&l->w->rig);
    assert_int_equal(str_append(&l->text, bytes, n, NULL), ERR_OK);
}

static void write_text(struct log_rig *l, const char *text)
{
    write_bytes(l, text, strlen(text));
}

/* Lines of several lengths in many blocks, with bytes that are no text among them. */
static void write_much(struct log_rig *l)
{
    uint32_t seed = 7;
    char block[50000];

    for (unsigned i = 0; i < 40; i++) {
        for (size_t k = 0; k < sizeof block; k++) {
            seed = seed * 1664525 + 1013904223;
            block[k] = seed >> 24 < 4 ? '\n' : (char)(seed >> 24);
        }
        write_bytes(l, block, sizeof block);
    }
    write_text(l, "the end without a newline");
}

static void finish(struct log_rig *l)
{
    struct msg msg = step_finished(1, RESULT_SUCCESS, 0);

    make_record(l->w, 1, ++l->number, &msg);
}

static struct reply get_log(struct log_rig *l, const char *query, const char *headers)
{
    char *path = xasprintf("%s%s", path_of_log, query);
    struct reply reply = fetch(l->w, "GET", path, headers, NULL);

    free(path);
    return reply;
}

static void expect_bytes(struct reply *reply, int status, const struct str *text, size_t first,
                         size_t n)
{
    if (reply->status != status)
        fail_msg("status %d: %s", reply->status, reply->body);
    assert_false(reply->cut);
    assert_int_equal(reply->n, n);
    if (n > 0)
        assert_memory_equal(reply->body, text->p + first, n);
}

static void test_whole(void **state)
{
    struct log_rig *l = *state;
    struct reply reply;
    char number[32];

    write_much(l);
    reply = get_log(l, "", "");
    expect_bytes(&reply, 200, &l->text, 0, l->text.n);
    assert_string_equal(reply_header(&reply, "Content-Type"), "text/plain; charset=utf-8");
    assert_string_equal(reply_header(&reply, "X-Content-Type-Options"), "nosniff");
    assert_null(reply_header(&reply, "Content-Disposition"));
    assert_null(reply_header(&reply, "Content-Encoding"));
    assert_string_equal(reply_header(&reply, "X-Tailrace-Log-Complete"), "false");
    (void)snprintf(number, sizeof number, "%zu", l->text.n);
    assert_string_equal(reply_header(&reply, "X-Tailrace-Log-Bytes"), number);
    reply_release(&reply);
    finish(l);
    reply = get_log(l, "?download=1&attempt=1", "Accept-Encoding: gzip;q=0, identity\r\n");
    expect_bytes(&reply, 200, &l->text, 0, l->text.n);
    assert_string_equal(reply_header(&reply, "X-Tailrace-Log-Complete"), "true");
    assert_non_null(strstr(reply_header(&reply, "Content-Disposition"), "attachment"));
    reply_release(&reply);
}

static void gunzip(const struct reply *reply, struct str *out)
{
    z_stream z = {.next_in = (Bytef *)reply->body, .avail_in = (uInt)reply->n};
    int rc = Z_OK;

    assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
    while (rc == Z_OK) {
        char *room = str_room(out, 65536);

        z.next_out = (Bytef *)room;
        z.avail_out = 65536;
        rc = inflate(&z, Z_NO_FLUSH);
        str_grew(out, 65536 - z.avail_out);
    }
    assert_int_equal(rc, Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    (void)inflateEnd(&z);
}

static void test_gzip(void **state)
{
    struct log_rig *l = *state;
    struct str out = STR_INIT(64 << 20);
    struct reply reply;

    write_much(l);
    reply = get_log(l, "", "Accept-Encoding: deflate, gzip;q=0.5\r\n");
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply_header(&reply, "Content-Encoding"), "gzip");
    assert_string_equal(reply_header(&reply, "Vary"), "Accept-Encoding");
    gunzip(&reply, &out);
    assert_int_equal(out.n, l->text.n);
    assert_memory_equal(out.p, l->text.p, out.n);
    reply_release(&reply);
    str_release(&out);
    /* A part is never compressed. */
    reply = get_log(l, "", "Accept-Encoding: gzip\r\nRange: bytes=0-9\r\n");
    expect_bytes(&reply, 206, &l->text, 0, 10);
    assert_null(reply_header(&reply, "Content-Encoding"));
    reply_release(&reply);
}

static void test_ranges(void **state)
{
    struct log_rig *l = *state;
    struct reply reply;
    char expected[64];

    write_much(l);
    reply = get_log(l, "", "Range: bytes=100000-100099\r\n");
    expect_bytes(&reply, 206, &l->text, 100000, 100);
    (void)snprintf(expected, sizeof expected, "bytes 100000-100099/%zu", l->text.n);
    assert_string_equal(reply_header(&reply, "Content-Range"), expected);
    reply_release(&reply);
    reply = get_log(l, "", "Range: bytes=-7\r\n");
    expect_bytes(&reply, 206, &l->text, l->text.n - 7, 7);
    reply_release(&reply);
    reply = get_log(l, "", "Range: bytes=1999999-\r\n");
    expect_bytes(&reply, 206, &l->text, 1999999, l->text.n - 1999999);
    reply_release(&reply);
    reply = get_log(l, "", "Range: bytes=9999999-\r\n");
    (void)snprintf(expected, sizeof expected, "bytes */%zu", l->text.n);
    assert_string_equal(reply_header(&reply, "Content-Range"), expected);
    expect_error(&reply, 416, "range", "bytes");
    reply = get_log(l, "", "Range: bytes=5-1\r\n");
    expect_bytes(&reply, 200, &l->text, 0, l->text.n);
    reply_release(&reply);
    reply = get_log(l, "?offset=70000&length=60000", "");
    expect_bytes(&reply, 200, &l->text, 70000, 60000);
    reply_release(&reply);
    (void)snprintf(expected, sizeof expected, "?offset=%zu", l->text.n);
    reply = get_log(l, expected, "");
    expect_bytes(&reply, 200, &l->text, l->text.n, 0);
    reply_release(&reply);
    reply = get_log(l, "?offset=99999999", "");
    expect_error(&reply, 416, "range", "bytes");
}

/* The offset of line n, counted the slow way. */
static size_t offset_of(const struct str *text, uint64_t line)
{
    size_t at = 0;

    while (line > 1 && at < text->n)
        line -= text->p[at++] == '\n';
    return at;
}

static uint64_t count_lines(const struct str *text)
{
    uint64_t n = 0;

    for (size_t i = 0; i < text->n; i++)
        n += text->p[i] == '\n';
    return n;
}

static void expect_lines(struct log_rig *l, const char *query, uint64_t line, uint64_t n)
{
    struct reply reply = get_log(l, query, "");
    size_t first = offset_of(&l->text, line);

    expect_bytes(&reply, 200, &l->text, first, offset_of(&l->text, line + n) - first);
    assert_int_equal(strtoull(reply_header(&reply, "X-Tailrace-Line"), NULL, 10), line);
    assert_int_equal(strtoull(reply_header(&reply, "X-Tailrace-Offset"), NULL, 10), first);
    reply_release(&reply);
}

static void test_lines(void **state)
{
    struct log_rig *l = *state;
    uint64_t lines;
    char query[64];

    write_much(l);
    lines = count_lines(&l->text);
    assert_true(lines > 10000);
    expect_lines(l, "?line=1&lines=1", 1, 1);
    expect_lines(l, "?line=1", 1, 500);
    expect_lines(l, "?line=7777&lines=3000", 7777, 3000);
    (void)snprintf(query, sizeof query, "?line=%" PRIu64, lines + 1);
    expect_lines(l, query, lines + 1, 1);
    (void)snprintf(query, sizeof query, "?line=%" PRIu64, lines + 5);
    expect_lines(l, query, lines + 1, 0);
    expect_lines(l, "?tail=1", lines + 1, 1);
    expect_lines(l, "?tail=100", lines - 98, 100);
    write_text(l, "\n");
    expect_lines(l, "?tail=1", lines + 1, 1);
    expect_lines(l, "?tail=10000", lines - 9998, 10000);
}

static void test_short_logs(void **state)
{
    struct log_rig *l = *state;
    struct reply reply = get_log(l, "", "Accept-Encoding: gzip\r\n");

    expect_bytes(&reply, 200, &l->text, 0, 0);
    assert_string_equal(reply_header(&reply, "X-Tailrace-Log-Bytes"), "0");
    assert_string_equal(reply_header(&reply, "X-Tailrace-Log-Complete"), "false");
    reply_release(&reply);
    expect_lines(l, "?tail=5", 1, 0);
    expect_lines(l, "?line=3", 1, 0);
    reply = get_log(l, "", "Range: bytes=0-\r\n");
    expect_error(&reply, 416, "range", "0 bytes");
    write_text(l, "a\n");
    expect_lines(l, "?tail=5", 1, 1);
    expect_lines(l, "?line=2", 2, 0);
}

static void test_bad_questions(void **state)
{
    struct log_rig *l = *state;
    static const struct {
        const char *path;
        int status;
        const char *code, *part;
    } cases[] = {
        {"/builds/1/steps/9/log", 404, "notfound", "3 steps, no step 9"},
        {"/builds/2/steps/1/log", 404, "notfound", "2"},
        {"/builds/1/steps/x/log", 404, "notfound", "step x"},
        {"/builds/1/steps/1/log?attempt=2", 404, "notfound", "attempt 2"},
        {"/builds/1/steps/1/log?tail=0", 400, "config", "tail"},
        {"/builds/1/steps/1/log?tail=10001", 400, "config", "10000"},
        {"/builds/1/steps/1/log?line=1&tail=1", 400, "config", "one of them"},
        {"/builds/1/steps/1/log?line=1&offset=1", 400, "config", "one of them"},
        {"/builds/1/steps/1/log?lines=5", 400, "config", "together with line"},
        {"/builds/1/steps/1/log?follow=1&tail=5", 400, "config", "follow"},
        {"/builds/1/steps/1/log?follow=yes", 400, "config", "follow"},
        {"/builds/1/steps/1/log?stream=out", 400, "config", "stderr"},
        {"/builds/1/steps/1/log?offset=-1", 400, "config", "offset"},
        {"/builds/1/steps/1/log?follow=1&offset=1", 416, "range", "0 bytes"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *path = xasprintf("/api/v1%s", cases[i].path);

        get_error(l->w, path, cases[i].status, cases[i].code, cases[i].part);
        free(path);
    }
    make_build(l->w, 3, "unit", "main");
    get_error(l->w, "/api/v1/builds/3/steps/1/log?follow=1", 404, "notfound", "not started");
}

static void test_separate_stderr(void **state)
{
    struct log_rig *l = *state;
    struct cutter *cutter = cutter_new();
    struct msg msg = {.type = REC_LOG_BLOCK};
    struct reply reply;

    msg.u.log_block = cutter_cut(cutter, "warning\n", 8);
    msg.u.log_block.stream = 1;
    make_record(l->w, 1, ++l->number, &msg);
    reply = get_log(l, "?stream=stderr", "");
    assert_string_equal(reply.body, "warning\n");
    reply_release(&reply);
    reply = get_log(l, "", "");
    assert_int_equal(reply.n, 0);
    reply_release(&reply);
    reply = get_json(l->w, "/builds/1/steps/1");
    assert_true(json_is_null(json_get(reply.json, "log")));
    assert_int_equal(json_get_int(json_get(reply.json, "stderr"), "lines", 0), 1);
    reply_release(&reply);
    cutter_free(cutter);
}

/* ---- following ---- */

static struct client *follow(struct log_rig *l, const char *query, struct reply *reply)
{
    struct client *client = client_open(l->w);
    char *path = xasprintf("%s?follow=1%s", path_of_log, query);

    client_ask(client, "GET", path, "", NULL);
    *reply = client_head(client);
    assert_int_equal(reply->status, 200);
    assert_string_equal(reply_header(reply, "Transfer-Encoding"), "chunked");
    free(path);
    return client;
}

/* Reads until the reply holds all that was written from `first` on. */
static void read_up(struct client *client, struct reply *reply, const struct str *text,
                    size_t first)
{
    while (reply->n < text->n - first)
        assert_true(reply_chunk(reply, client));
    assert_int_equal(reply->n, text->n - first);
    assert_memory_equal(reply->body, text->p + first, reply->n);
}

static void test_follow(void **state)
{
    struct log_rig *l = *state;
    struct client *client;
    struct reply reply;

    write_text(l, "one\n");
    client = follow(l, "", &reply);
    read_up(client, &reply, &l->text, 0);
    for (unsigned i = 0; i < 20; i++) {
        write_text(l, i % 3 ? "more\n" : "half");
        tell_log(l->w, 1, 1);
        read_up(client, &reply, &l->text, 0);
    }
    write_text(l, "last\n");
    finish(l);
    tell_step(l->w, 1, 1);
    read_up(client, &reply, &l->text, 0);
    assert_false(reply_chunk(&reply, client));
    assert_false(reply.cut);
    reply_release(&reply);
    client_close(client);
}

static void test_follow_from_the_middle(void **state)
{
    struct log_rig *l = *state;
    struct client *client;
    struct reply reply;

    write_much(l);
    client = follow(l, "&offset=1234567", &reply);
    read_up(client, &reply, &l->text, 1234567);
    write_much(l);
    tell_log(l->w, 1, 1);
    read_up(client, &reply, &l->text, 1234567);
    finish(l);
    tell_step(l->w, 1, 1);
    assert_false(reply_chunk(&reply, client));
    assert_false(reply.cut);
    reply_release(&reply);
    client_close(client);
}

/* Waits for the start of a step, and ends with its build when there never is one. */
static void test_follow_before_the_start(void **state)
{
    struct log_rig *l = *state;
    struct client *client = client_open(l->w);
    struct reply reply;

    client_ask(client, "GET", "/api/v1/builds/1/steps/2/log?follow=1", "", NULL);
    reply = client_head(client);
    assert_int_equal(reply.status, 200);
    web_rig_sync(l->w);
    store_post(l->w->rig.store,
               build_row_op(&l->w->rig, STORE_ATTEMPT_END, 1, BUILD_FINISHED, RESULT_FAILURE));
    rig_wait(&l->w->rig);
    tell_stored_build(l->w, 1);
    assert_false(reply_chunk(&reply, client));
    assert_false(reply.cut);
    assert_int_equal(reply.n, 0);
    reply_release(&reply);
    client_close(client);
}

static void test_follow_a_finished_log(void **state)
{
    struct log_rig *l = *state;
    struct reply reply;

    write_much(l);
    finish(l);
    reply = get_log(l, "?follow=1", "Accept-Encoding: gzip\r\n");
    expect_bytes(&reply, 200, &l->text, 0, l->text.n);
    assert_null(reply_header(&reply, "Content-Encoding"));
    reply_release(&reply);
}

/* A client of HTTP/1.0, such as many proxies, gets the end of the connection as the end. */
static void test_follow_http_1_0(void **state)
{
    struct log_rig *l = *state;
    struct client *client = client_open(l->w);
    struct reply reply;

    write_text(l, "one\ntwo\n");
    finish(l);
    client_put(client, "GET /api/v1/builds/1/steps/1/log?follow=1 HTTP/1.0\r\n\r\n");
    reply = client_head(client);
    assert_int_equal(reply.status, 200);
    reply_add(&reply, client, 1 << 20);
    assert_string_equal(reply.body, "one\ntwo\n");
    reply_release(&reply);
    client_close(client);
}

/* Whoever stops reading, or leaves, disturbs nobody. */
static void test_followers_leave(void **state)
{
    struct log_rig *l = *state;
    struct client *clients[20];
    struct reply reply;

    write_text(l, "one\n");
    for (size_t i = 0; i < 20; i++) {
        clients[i] = follow(l, "", &reply);
        reply_release(&reply);
    }
    for (size_t i = 0; i < 20; i += 2)
        client_close(clients[i]);
    write_much(l);
    tell_log(l->w, 1, 1);
    web_rig_sync(l->w);
    for (size_t i = 1; i < 20; i += 2)
        client_close(clients[i]);
    finish(l);
    tell_step(l->w, 1, 1);
    reply = get_log(l, "", "");
    expect_bytes(&reply, 200, &l->text, 0, l->text.n);
    reply_release(&reply);
}

/* Stopping cuts a followed log, so that nobody takes it for whole. */
static void test_follow_and_stop(void **state)
{
    struct log_rig *l = *state;
    struct client *client;
    struct reply reply;

    write_text(l, "one\n");
    client = follow(l, "", &reply);
    read_up(client, &reply, &l->text, 0);
    web_stop(l->w->web);
    l->w->web = NULL;
    assert_false(reply_chunk(&reply, client));
    assert_true(reply.cut);
    reply_release(&reply);
    client_close(client);
}

int main(void)
{
#define LOG_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        LOG_TEST(test_whole),
        LOG_TEST(test_gzip),
        LOG_TEST(test_ranges),
        LOG_TEST(test_lines),
        LOG_TEST(test_short_logs),
        LOG_TEST(test_bad_questions),
        LOG_TEST(test_separate_stderr),
        LOG_TEST(test_follow),
        LOG_TEST(test_follow_from_the_middle),
        LOG_TEST(test_follow_before_the_start),
        LOG_TEST(test_follow_a_finished_log),
        LOG_TEST(test_follow_http_1_0),
        LOG_TEST(test_followers_leave),
        LOG_TEST(test_follow_and_stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
