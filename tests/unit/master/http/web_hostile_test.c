/* Requests that mean harm: what could be cut in two ways, is too large, never ends, or is no HTTP.
 */
#include "tests/unit/master/http/web_rig.h"

/* Sends the bytes and expects that status, as the last answer on the connection. */
static void refused(struct web_rig *w, const char *request, int status, const char *part)
{
    struct client *client = client_open(w);
    struct reply reply;

    client_put(client, request);
    reply = client_reply(client, false);
    if (reply.status != status || (part && !strstr(reply.body, part)))
        fail_msg("%s: %d %s", request, reply.status, reply.body);
    assert_false(client_more(client)); /* closed */
    reply_release(&reply);
    client_close(client);
}

static void still_answers(struct web_rig *w)
{
    struct reply reply = get_json(w, "/status");

    reply_release(&reply);
}

static void test_smuggling(void **state)
{
    struct web_rig *w = *state;

    refused(w,
            "POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n"
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            400, "together");
    refused(w,
            "POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n"
            "Content-Length: 30\r\n\r\n",
            400, "twice");
    refused(w,
            "GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\n"
            "Content-Length: 5\r\n\r\nhello",
            400, "twice");
    refused(w,
            "POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
            400, NULL);
    refused(w, "POST /api/v1/reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length : 5\r\n\r\nhello",
            400, NULL);
    still_answers(w);
}

static void test_hosts(void **state)
{
    struct web_rig *w = *state;

    refused(w, "GET /api/v1/status HTTP/1.1\r\n\r\n", 400, NULL);
    refused(w, "GET /api/v1/status HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "Host");
    refused(w, "GET /api/v1/status HTTP/1.1\r\nHost: a@b/c\r\n\r\n", 400, "Host");
    still_answers(w);
}

static void test_doubled_headers(void **state)
{
    struct web_rig *w = *state;

    refused(w,
            "GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://a\r\n"
            "origin: http://b\r\n\r\n",
            400, "twice");
    refused(w,
            "GET /api/v1/status HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer a\r\n"
            "Authorization: Bearer b\r\n\r\n",
            400, "twice");
}

/* A body that is too large is read to its end when that is near, so that its sender sees why. */
static void test_large_bodies(void **state)
{
    struct web_rig *w = *state;
    size_t n = (1 << 20) + 1;
    char *body = xmalloc(n + 1);
    struct reply reply;
    struct client *client;

    memset(body, ' ', n);
    body[n] = '\0';
    reply = fetch(w, "POST", "/api/v1/force", "", body);
    expect_error(&reply, 413, "limit", "1 MiB");
    body[n - 1] = '\0';
    reply = fetch(w, "POST", "/api/v1/force", "", body);
    expect_error(&reply, 400, "config", "not JSON");
    client = client_open(w);
    client_put(client, "POST /api/v1/force HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        client_put(client, "80000\r\n");
        client_write(client, body, 0x80000);
        client_put(client, "\r\n");
    }
    client_put(client, "0\r\n\r\n");
    reply = client_reply(client, false);
    expect_error(&reply, 413, "limit", "1 MiB");
    client_close(client);
    refused(w,
            "POST /api/v1/force HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n"
            "Content-Type: application/json\r\n\r\n",
            413, "1 MiB");
    refused(w,
            "POST /api/v1/force HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2000000\r\n"
            "Expect: 100-continue\r\n\r\n",
            413, "1 MiB");
    free(body);
    still_answers(w);
}

/* One chunk after the other without an end. */
static void test_endless_body(void **state)
{
    struct web_rig *w = *state;
    struct client *client = client_open(w);
    char *chunk = xmalloc(0x100000 + 1);
    struct reply reply;

    memset(chunk, 'x', 0x100000);
    client_put(client, "POST /api/v1/force HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 40; i++) {
        client_put(client, "100000\r\n");
        client_write(client, chunk, 0x100000);
        client_put(client, "\r\n");
    }
    reply = client_reply(client, false);
    assert_true(reply.status == 0 || reply.status >= 400);
    reply_release(&reply);
    client_close(client);
    free(chunk);
    still_answers(w);
}

static void test_large_headers(void **state)
{
    struct web_rig *w = *state;
    size_t n = 100000;
    char *text = xmalloc(n + 64);
    struct client *client = client_open(w);
    struct reply reply;

    memset(text, 'a', n);
    memcpy(text, "GET /", 5);
    memcpy(text + 9000, " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 31);
    client_write(client, text, 9000 + 30);
    reply = client_reply(client, false);
    assert_int_equal(reply.status, 414);
    reply_release(&reply);
    client_close(client);
    memset(text, 'a', n);
    memcpy(text, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", 36);
    client = client_open(w);
    client_write(client, text, n);
    client_put(client, "\r\n\r\n");
    reply = client_reply(client, false);
    assert_true(reply.status == 0 || reply.status >= 400);
    reply_release(&reply);
    client_close(client);
    free(text);
    still_answers(w);
}

/* More parameters than libmicrohttpd has memory for: it neither answers nor says that the request
 * has ended, but nothing of it may stay. */
static void test_many_parameters(void **state)
{
    struct web_rig *w = *state;
    struct str text = STR_INIT(100000);

    str_put(&text, "GET /api/v1/status?");
    for (int i = 0; i < 2000; i++)
        str_put(&text, "a=b&");
    str_put(&text, " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    for (int i = 0; i < 20; i++) {
        struct client *client = client_open(w);

        client_write(client, text.p, text.n);
        client_close(client);
    }
    str_release(&text);
    still_answers(w);
}

static void test_nonsense(void **state)
{
    static const char *const texts[] = {
        "\r\n\r\nGET /api/none HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: a\r\n\r\n",
        "\x16\x03\x01\x02\x01 a TLS hello\r\n\r\n",
        "GET /a b c HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /api/v1/builds?%zz HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://x HTTP/1.1\r\nHost: a\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT evil:443 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nno colon here\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n folded: x\r\n: empty\r\n\r\n",
        "POST /api/v1/force HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "POST /api/v1/force HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "POST /api/v1/force HTTP/1.1\r\nHost: a\r\nContent-Length: 0x10\r\n\r\n",
    };
    struct web_rig *w = *state;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct client *client = client_open(w);

        client_put(client, texts[i]);
        (void)client_more(client); /* an answer, or the end */
        if (client->n > 0 && strncmp(client->in, "HTTP/1.", 7) == 0)
            assert_true(strtol(client->in + 9, NULL, 10) >= 400);
        client_close(client);
    }
    still_answers(w);
}

/* Many questions in one packet are answered in order on one connection. */
static void test_pipelining(void **state)
{
    struct web_rig *w = *state;
    struct client *client = client_open(w);

    for (int i = 0; i < 50; i++) {
        char *text = xasprintf("GET /api/v1/builds/%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", i + 1);

        client_put(client, text);
        free(text);
    }
    for (int i = 0; i < 50; i++) {
        struct reply reply = client_reply(client, false);
        char number[16];

        (void)snprintf(number, sizeof number, "%d", i + 1);
        expect_error(&reply, 404, "notfound", number);
    }
    client_close(client);
}

static void test_absolute_form(void **state)
{
    struct web_rig *w = *state;
    struct reply reply = fetch(w, "GET", "http://127.0.0.1/api/v1/status", "", NULL);

    assert_int_equal(reply.status, 200);
    reply_release(&reply);
}

/* Connections that begin and never go on; others are served all the same. */
static void test_half_requests(void **state)
{
    struct web_rig *w = *state;
    struct client *clients[100];

    for (size_t i = 0; i < 100; i++) {
        clients[i] = client_open(w);
        client_put(clients[i], i % 2 ? "GET /api/v1/sta" : "POST /api/v1/force HTTP/1.1\r\nHost: ");
    }
    still_answers(w);
    for (size_t i = 0; i < 100; i++)
        client_close(clients[i]);
    still_answers(w);
}

int main(void)
{
#define HOSTILE_TEST(name) cmocka_unit_test_setup_teardown(name, web_rig_setup, web_rig_teardown)
    const struct CMUnitTest tests[] = {
        HOSTILE_TEST(test_smuggling),       HOSTILE_TEST(test_hosts),
        HOSTILE_TEST(test_doubled_headers), HOSTILE_TEST(test_large_bodies),
        HOSTILE_TEST(test_endless_body),    HOSTILE_TEST(test_large_headers),
        HOSTILE_TEST(test_nonsense),        HOSTILE_TEST(test_pipelining),
        HOSTILE_TEST(test_absolute_form),   HOSTILE_TEST(test_half_requests),
        HOSTILE_TEST(test_many_parameters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
