/* Real sockets on the loopback interface: listener, dialer and the stream between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/dialer.h"
#include "common/io/listener.h"
#include "common/io/tcp.h"

struct side {
    struct bed *bed;
    struct stream *stream;
    char got[64];
    size_t n_got;
    int drained, closed;
    struct err why;
};

struct bed {
    struct loop loop;
    struct listener *listener;
    struct side sides[2]; /* who dialled, who accepted */
    int accepted, dialled, listener_closed;
    struct err dial_why;
};

static void on_data(void *owner, struct view bytes)
{
    struct side *side = owner;
    size_t i;

    for (i = 0; i < bytes.n && side->n_got + i < sizeof side->got - 1; i++)
        side->got[side->n_got + i] = bytes.p[i];
    side->n_got += bytes.n;
}

static void on_drain(void *owner)
{
    ((struct side *)owner)->drained++;
}

static void on_closed(void *owner, const struct err *why)
{
    struct side *side = owner;

    side->closed++;
    side->why = *why;
    side->stream = NULL;
}

static const struct stream_ops ops = {on_data, on_drain, on_closed};

static void side_take(struct bed *bed, int which, struct stream *stream)
{
    struct side *side = &bed->sides[which];

    side->bed = bed;
    side->stream = stream;
    stream_own(stream, &ops, side);
    stream_read(stream, true);
}

static void on_accept(void *owner, struct stream *stream)
{
    struct bed *bed = owner;

    bed->accepted++;
    side_take(bed, 1, stream);
}

static void on_listener_closed(void *owner)
{
    ((struct bed *)owner)->listener_closed++;
}

static const struct listener_ops listener_ops = {on_accept, on_listener_closed};

static void on_dialled(void *owner, struct stream *stream, const struct err *why)
{
    struct bed *bed = owner;

    bed->dialled++;
    if (stream)
        side_take(bed, 0, stream);
    else
        bed->dial_why = *why;
}

static int setup(void **state)
{
    struct bed *bed = xcalloc(1, sizeof *bed);

    assert_int_equal(loop_init(&bed->loop, clock_system(), NULL), ERR_OK);
    assert_int_equal(
        listener_open(&bed->loop, "127.0.0.1:0", &listener_ops, bed, &bed->listener, NULL), ERR_OK);
    *state = bed;
    return 0;
}

static int teardown(void **state)
{
    struct bed *bed = *state;
    int i;

    for (i = 0; i < 2; i++)
        if (bed->sides[i].stream)
            stream_close(bed->sides[i].stream, NULL);
    if (bed->listener)
        listener_close(bed->listener);
    loop_run(&bed->loop);
    assert_int_equal(bed->listener_closed, 1);
    loop_release(&bed->loop);
    free(bed);
    return 0;
}

static void connect_both(struct bed *bed)
{
    (void)dialer_start(&bed->loop, "127.0.0.1", listener_port(bed->listener), 10000, on_dialled,
                       bed);
    assert_int_equal(bed->dialled, 0);
    while (!bed->dialled || !bed->accepted)
        loop_run_once(&bed->loop, true);
    assert_non_null(bed->sides[0].stream);
}

static void say(struct side *from, const char *text)
{
    stream_write(from->stream, xstrdup(text), strlen(text));
}

static void bytes_go_both_ways(void **state)
{
    struct bed *bed = *state;
    char name[64];

    connect_both(bed);
    (void)snprintf(name, sizeof name, "127.0.0.1:%u", listener_port(bed->listener));
    assert_string_equal(bed->sides[0].stream->peer, name);
    assert_memory_equal(bed->sides[1].stream->peer, "127.0.0.1:", 10);
    say(&bed->sides[0], "ping");
    assert_int_equal(stream_pending(bed->sides[0].stream), 0); /* the system took it at once */
    say(&bed->sides[1], "pong");
    while (bed->sides[0].n_got < 4 || bed->sides[1].n_got < 4)
        loop_run_once(&bed->loop, true);
    assert_string_equal(bed->sides[0].got, "pong");
    assert_string_equal(bed->sides[1].got, "ping");
}

static void end_of_input_closes(void **state)
{
    struct bed *bed = *state;

    connect_both(bed);
    stream_close(bed->sides[0].stream, NULL);
    assert_int_equal(bed->sides[0].closed, 0);
    while (!bed->sides[1].closed)
        loop_run_once(&bed->loop, true);
    assert_int_equal(bed->sides[0].closed, 1);
    assert_int_equal(bed->sides[0].why.code, ERR_OK);
    assert_int_equal(bed->sides[1].why.code, ERR_IO);
    assert_non_null(strstr(bed->sides[1].why.msg, "closed the connection"));
}

static void full_stream_drains(void **state)
{
    enum { CHUNK = 64 * 1024 };
    struct bed *bed = *state;
    struct side *from, *to;
    size_t sent = 0;

    connect_both(bed);
    from = &bed->sides[0];
    to = &bed->sides[1];
    stream_read(to->stream, false);
    while (!stream_is_full(from->stream)) {
        stream_write(from->stream, xcalloc(1, CHUNK), CHUNK);
        sent += CHUNK;
        loop_run_once(&bed->loop, false);
    }
    assert_true(stream_pending(from->stream) > STREAM_HIGH_BYTES);
    assert_int_equal(from->drained, 0);
    stream_read(to->stream, true);
    while (!from->drained)
        loop_run_once(&bed->loop, true);
    assert_true(stream_pending(from->stream) <= STREAM_LOW_BYTES);
    while (to->n_got < sent)
        loop_run_once(&bed->loop, true);
    assert_int_equal(to->n_got, sent);
    assert_int_equal(stream_pending(from->stream), 0);
    assert_int_equal(from->drained, 1);
}

static void close_drops_pending_writes(void **state)
{
    struct bed *bed = *state;
    struct side *from;

    connect_both(bed);
    from = &bed->sides[0];
    stream_read(bed->sides[1].stream, false);
    while (!stream_is_full(from->stream)) {
        stream_write(from->stream, xcalloc(1, 65536), 65536);
        loop_run_once(&bed->loop, false);
    }
    stream_close(from->stream, NULL);
    while (!from->closed)
        loop_run_once(&bed->loop, true);
    assert_int_equal(from->drained, 0);
}

/* The other end has sent what we never read: closing the socket at once would reset it and lose the
 * goodbye. */
static void finish_gets_the_last_words_through(void **state)
{
    struct bed *bed = *state;
    struct side *from, *to;
    struct err why;

    connect_both(bed);
    from = &bed->sides[0];
    to = &bed->sides[1];
    stream_read(from->stream, false);
    stream_read(to->stream, false);
    stream_write(to->stream, xcalloc(1, 100000), 100000);
    loop_run_once(&bed->loop, false);
    (void)err_set(&why, ERR_PROTO, "said nonsense");
    say(from, "goodbye");
    stream_finish(from->stream, &why, 60000);
    loop_run_once(&bed->loop, false);
    stream_read(to->stream, true);
    while (!from->closed || !to->closed)
        loop_run_once(&bed->loop, true);
    assert_string_equal(to->got, "goodbye");
    assert_string_equal(from->why.msg, "said nonsense");
    assert_non_null(strstr(to->why.msg, "closed the connection"));
    assert_int_equal(from->n_got, 0);
}

static void finish_does_not_wait_for_ever(void **state)
{
    struct bed *bed = *state;
    struct side *from;

    connect_both(bed);
    from = &bed->sides[0];
    stream_read(bed->sides[1].stream, false); /* never sees the end */
    say(from, "goodbye");
    stream_finish(from->stream, NULL, 5);
    while (!from->closed)
        loop_run_once(&bed->loop, true);
    assert_int_equal(from->why.code, ERR_OK);
}

static void write_to_a_gone_peer_fails_from_the_loop(void **state)
{
    struct bed *bed = *state;
    struct linger reset = {1, 0};
    uv_os_fd_t fd;
    int i;

    connect_both(bed);
    stream_read(bed->sides[0].stream, false);
    assert_int_equal(uv_fileno((uv_handle_t *)tcp_handle(bed->sides[1].stream), &fd), 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
    stream_close(bed->sides[1].stream, NULL);
    while (!bed->sides[1].closed)
        loop_run_once(&bed->loop, true);
    for (i = 0; i < 3; i++) {
        say(&bed->sides[0], "anybody there?");
        assert_int_equal(bed->sides[0].closed, 0);
    }
    while (!bed->sides[0].closed)
        loop_run_once(&bed->loop, true);
    assert_int_equal(bed->sides[0].why.code, ERR_IO);
    assert_true(bed->sides[0].why.sys == ECONNRESET || bed->sides[0].why.sys == EPIPE);
}

static void refused_dial_says_so(void **state)
{
    struct bed *bed = *state;
    uint16_t port = listener_port(bed->listener);

    listener_close(bed->listener);
    bed->listener = NULL;
    (void)dialer_start(&bed->loop, "127.0.0.1", port, 10000, on_dialled, bed);
    loop_run(&bed->loop);
    assert_int_equal(bed->dialled, 1);
    assert_int_equal(bed->dial_why.code, ERR_IO);
    assert_int_equal(bed->dial_why.sys, ECONNREFUSED);
    assert_memory_equal(bed->dial_why.msg, "connect to 127.0.0.1:", 21);
}

static void dial_by_name(void **state)
{
    struct bed *bed = *state;

    /* Both families of "localhost" may be tried: only one listens. */
    (void)dialer_start(&bed->loop, "localhost", listener_port(bed->listener), 10000, on_dialled,
                       bed);
    while (!bed->dialled)
        loop_run_once(&bed->loop, true);
    assert_non_null(bed->sides[0].stream);
}

static void name_that_cannot_be(void **state)
{
    struct bed *bed = *state;

    (void)dialer_start(&bed->loop, "not a name", 1, 10000, on_dialled, bed);
    while (!bed->dialled)
        loop_run_once(&bed->loop, true);
    assert_int_equal(bed->dial_why.code, ERR_NOTFOUND);
}

/* A full backlog swallows the packets of a new connection, as a dead host does. */
static void dial_times_out(void **state)
{
    enum { FILL = 8 };
    struct bed *bed = *state;
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int full = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fill[FILL], i;

    assert_int_equal(bind(full, (struct sockaddr *)&addr, sizeof addr), 0);
    assert_int_equal(listen(full, 0), 0);
    assert_int_equal(getsockname(full, (struct sockaddr *)&addr, &len), 0);
    for (i = 0; i < FILL; i++) {
        fill[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fill[i], (struct sockaddr *)&addr, sizeof addr);
    }
    (void)dialer_start(&bed->loop, "127.0.0.1", ntohs(addr.sin_port), 60, on_dialled, bed);
    while (!bed->dialled)
        loop_run_once(&bed->loop, true);
    assert_null(bed->sides[0].stream);
    assert_int_equal(bed->dial_why.code, ERR_TIMEOUT);
    for (i = 0; i < FILL; i++)
        (void)close(fill[i]);
    (void)close(full);
}

static void cancelled_dials_stay_silent(void **state)
{
    struct bed *bed = *state;
    uint16_t port = listener_port(bed->listener);
    struct dialer *dialer;
    int i;

    for (i = 0; i < 3; i++) {
        dialer = dialer_start(&bed->loop, i == 1 ? "localhost" : "127.0.0.1", port, 10000,
                              on_dialled, bed);
        if (i > 0)
            loop_run_once(&bed->loop, false); /* resolving, connecting */
        dialer_cancel(dialer);
    }
    listener_close(bed->listener);
    bed->listener = NULL;
    loop_run(&bed->loop);
    assert_int_equal(bed->dialled, 0);
}

static void drop_line(void *arg, enum log_level level, struct view line)
{
    (void)level;
    (void)line;
    ++*(int *)arg;
}

static void listener_waits_for_descriptors(void **state)
{
    struct bed *bed = *state;
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct rlimit before, tight;
    int client, lowest, pauses = 0;

    addr.sin_port = htons(listener_port(bed->listener));
    client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (struct sockaddr *)&addr, sizeof addr), 0);
    lowest = dup(client);
    (void)close(lowest);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = (rlim_t)lowest;
    log_set_sink(drop_line, &pauses);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    while (!pauses)
        loop_run_once(&bed->loop, true);
    loop_run_once(&bed->loop, false);
    loop_run_once(&bed->loop, false);
    assert_int_equal(pauses, 1);
    assert_int_equal(bed->accepted, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    while (!bed->accepted)
        loop_run_once(&bed->loop, true);
    log_set_sink(NULL, NULL);
    assert_int_equal(pauses, 1);
    (void)close(client);
}

static void port_in_use_is_named(void **state)
{
    struct bed *bed = *state;
    struct listener *second = NULL;
    struct err err = ERR_INIT;
    char address[64];

    (void)snprintf(address, sizeof address, "127.0.0.1:%u", listener_port(bed->listener));
    assert_int_equal(listener_open(&bed->loop, address, &listener_ops, bed, &second, &err), ERR_IO);
    assert_null(second);
    assert_int_equal(err.sys, EADDRINUSE);
    assert_non_null(strstr(err.msg, address));
}

static void bad_addresses(void **state)
{
    static const char *const bad[] = {"",           "8010",   ":8010", "host:", "host:http",
                                      "host:65536", "::1:80", "[]:80", "[::1]", "1.2.3.4:-1"};
    struct bed *bed = *state;
    struct listener *listener = NULL;
    struct err err = ERR_INIT;
    uint16_t port = 1;
    char *host = NULL;
    size_t i;

    for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(address_split(bad[i], &host, &port, &err), ERR_CONFIG);
        assert_null(host);
    }
    assert_int_equal(
        listener_open(&bed->loop, "example.org:80", &listener_ops, bed, &listener, &err),
        ERR_CONFIG);
    assert_null(listener);
}

static void good_addresses(void **state)
{
    static const struct {
        const char *address, *host;
        uint16_t port;
        bool loopback;
    } good[] = {
        {"localhost:0", "localhost", 0, true},    {"127.1.2.3:80", "127.1.2.3", 80, true},
        {"[::1]:65535", "::1", 65535, true},      {"0.0.0.0:1", "0.0.0.0", 1, false},
        {"ci.example:9", "ci.example", 9, false}, {"[fe80::1]:9", "fe80::1", 9, false},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof good[0]; i++) {
        uint16_t port = 1;
        char *host = NULL;

        assert_int_equal(address_split(good[i].address, &host, &port, NULL), ERR_OK);
        assert_string_equal(host, good[i].host);
        assert_int_equal(port, good[i].port);
        assert_int_equal(address_is_loopback(host), good[i].loopback);
        free(host);
    }
}

#define BED_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(bytes_go_both_ways),
        BED_TEST(end_of_input_closes),
        BED_TEST(full_stream_drains),
        BED_TEST(close_drops_pending_writes),
        BED_TEST(finish_gets_the_last_words_through),
        BED_TEST(finish_does_not_wait_for_ever),
        BED_TEST(write_to_a_gone_peer_fails_from_the_loop),
        BED_TEST(refused_dial_says_so),
        BED_TEST(dial_by_name),
        BED_TEST(name_that_cannot_be),
        BED_TEST(dial_times_out),
        BED_TEST(cancelled_dials_stay_silent),
        BED_TEST(listener_waits_for_descriptors),
        BED_TEST(port_in_use_is_named),
        BED_TEST(bad_addresses),
        cmocka_unit_test(good_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
