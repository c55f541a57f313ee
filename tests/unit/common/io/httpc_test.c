/* The HTTP client against a server in a thread, on loopback and a port of the system's choice. */
#include "common/io/httpc.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/mem.h"

enum { REQUEST_MAX = 64 * 1024 };

/* Takes one connection, reads one request, gives one answer. */
struct server {
    int listener;
    char *url;
    pthread_t thread;
    const char *answer;
    bool hold; /* keeps the connection open until the client has gone */
    struct str request;
};

static void *serve(void *arg)
{
    struct server *s = arg;
    int fd = accept(s->listener, NULL, NULL);
    char bytes[4096];
    ssize_t n;

    if (fd < 0)
        return NULL;
    while (!strstr(str_cstr(&s->request), "\r\n\r\n") && (n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        (void)!str_append(&s->request, bytes, (size_t)n, NULL);
    (void)send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL);
    while (s->hold && recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
    (void)shutdown(fd, SHUT_WR);
    while (recv(fd, bytes, sizeof bytes, 0) > 0)
        ;
    (void)close(fd);
    return NULL;
}

static void server_start(struct server *s, const char *answer, bool hold)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    *s = (struct server){.answer = answer, .hold = hold, .request = STR_INIT(REQUEST_MAX)};
    s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->listener, 1), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&at, &len), 0);
    s->url = xasprintf("http://127.0.0.1:%d/x", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_end(struct server *s)
{
    (void)pthread_join(s->thread, NULL);
    (void)close(s->listener);
    free(s->url);
    str_release(&s->request);
}

/* What the callbacks saw. */
struct seen {
    struct str body;
    int status;
    bool stop;
};

static bool on_body(void *arg, int status, struct view bytes)
{
    struct seen *seen = arg;

    seen->status = status;
    str_put_view(&seen->body, bytes);
    return !seen->stop;
}

static const struct httpc_ops ops = {on_body, NULL};

static enum err_code run(struct httpc_request request, struct seen *seen, struct httpc_reply *reply)
{
    struct httpc *c = httpc_new();
    struct err err = ERR_INIT;
    enum err_code rc;

    request.ops = &ops;
    request.arg = seen;
    rc = httpc_run(c, &request, reply, &err);
    assert_int_equal(rc != ERR_OK, err.msg[0] != '\0');
    httpc_free(c);
    return rc;
}

static void test_post(void **state)
{
    struct seen seen = {.body = STR_INIT(1000)};
    struct httpc_wanted wanted[] = {{"X-Bytes", ""}, {"X-Absent", "old"}};
    const char *const headers[] = {"Idempotency-Key: k1"};
    struct httpc_reply reply;
    struct server s;

    (void)state;
    server_start(&s, "HTTP/1.1 201 Created\r\nx-bytes:  12 \r\nContent-Length: 2\r\n\r\nok", false);
    assert_int_equal(run((struct httpc_request){.method = "POST",
                                                .url = s.url,
                                                .token = "secret",
                                                .headers = headers,
                                                .headers_n = 1,
                                                .body = view_of("{}"),
                                                .wanted = wanted,
                                                .wanted_n = 2},
                         &seen, &reply),
                     ERR_OK);
    assert_int_equal(reply.status, 201);
    assert_int_equal(seen.status, 201);
    assert_false(reply.stopped);
    assert_string_equal(str_cstr(&seen.body), "ok");
    assert_string_equal(wanted[0].value, "12");
    assert_string_equal(wanted[1].value, "");
    assert_memory_equal(str_cstr(&s.request), "POST /x HTTP/1.1\r\n", 18);
    assert_non_null(strstr(str_cstr(&s.request), "Authorization: Bearer secret\r\n"));
    assert_non_null(strstr(str_cstr(&s.request), "Content-Type: application/json\r\n"));
    assert_non_null(strstr(str_cstr(&s.request), "Idempotency-Key: k1\r\n"));
    assert_null(strstr(str_cstr(&s.request), "Expect"));
    server_end(&s);
    str_release(&seen.body);
}

static void test_post_without_a_body(void **state)
{
    struct seen seen = {.body = STR_INIT(1000)};
    struct httpc_reply reply;
    struct server s;

    (void)state;
    server_start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false);
    assert_int_equal(run((struct httpc_request){.method = "POST", .url = s.url}, &seen, &reply),
                     ERR_OK);
    assert_non_null(strstr(str_cstr(&s.request), "Content-Length: 0\r\n"));
    assert_null(strstr(str_cstr(&s.request), "Content-Type"));
    server_end(&s);
    str_release(&seen.body);
}

static void test_a_redirect_is_not_followed(void **state)
{
    struct seen seen = {.body = STR_INIT(1000)};
    struct httpc_reply reply;
    struct server s;

    (void)state;
    server_start(&s,
                 "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
                 false);
    assert_int_equal(run((struct httpc_request){.url = s.url}, &seen, &reply), ERR_OK);
    assert_int_equal(reply.status, 302);
    assert_null(strstr(str_cstr(&s.request), "Authorization"));
    server_end(&s);
    str_release(&seen.body);
}

static void test_a_broken_answer(void **state)
{
    struct seen seen = {.body = STR_INIT(1000)};
    struct httpc_reply reply;
    struct server s;

    (void)state;
    server_start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", false);
    assert_int_equal(run((struct httpc_request){.url = s.url}, &seen, &reply), ERR_AGAIN);
    assert_int_equal(reply.status, 200);
    assert_string_equal(str_cstr(&seen.body), "half");
    server_end(&s);
    server_start(&s, "", false);
    assert_int_equal(run((struct httpc_request){.url = s.url}, &seen, &reply), ERR_AGAIN);
    assert_int_equal(reply.status, 0);
    server_end(&s);
    str_release(&seen.body);
}

static void test_what_is_no_http(void **state)
{
    struct server s;
    struct seen seen = {.body = STR_INIT(1000)};
    struct httpc_reply reply;

    (void)state;
    server_start(&s, "SSH-2.0-something\r\n", false);
    assert_int_equal(run((struct httpc_request){.url = s.url}, &seen, &reply), ERR_PROTO);
    server_end(&s);
    assert_int_equal(reply.status, 0);
    assert_int_equal(seen.body.n, 0);
    str_release(&seen.body);
}

static void test_the_callback_stops(void **state)
{
    struct seen seen = {.body = STR_INIT(1000), .stop = true};
    struct httpc_reply reply;
    struct server s;

    (void)state;
    server_start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", true);
    assert_int_equal(run((struct httpc_request){.url = s.url}, &seen, &reply), ERR_OK);
    assert_true(reply.stopped);
    server_end(&s);
    str_release(&seen.body);
}

static void test_silence_ends(void **state)
{
    struct seen seen = {.body = STR_INIT(1000)};
    struct httpc_reply reply;
    struct server s;

    (void)state;
    server_start(&s, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", true);
    assert_int_equal(run((struct httpc_request){.url = s.url, .idle_ms = 50}, &seen, &reply),
                     ERR_TIMEOUT);
    assert_int_equal(reply.status, 200);
    server_end(&s);
    str_release(&seen.body);
}

static void test_addresses_that_are_none(void **state)
{
    struct seen seen = {.body = STR_INIT(1000)};
    struct httpc_reply reply;

    (void)state;
    assert_int_equal(run((struct httpc_request){.url = "file:///etc/hostname"}, &seen, &reply),
                     ERR_CONFIG);
    assert_int_equal(run((struct httpc_request){.url = "http://[::1"}, &seen, &reply), ERR_CONFIG);
    assert_int_equal(seen.body.n, 0);
    str_release(&seen.body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_post_without_a_body),
        cmocka_unit_test(test_a_redirect_is_not_followed),
        cmocka_unit_test(test_a_broken_answer),
        cmocka_unit_test(test_what_is_no_http),
        cmocka_unit_test(test_the_callback_stops),
        cmocka_unit_test(test_silence_ends),
        cmocka_unit_test(test_addresses_that_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
