/*
 * A real web thread over a real store in a folder of its own, with the test in the master's place:
 * it posts events, takes the commands that the web asks, and talks HTTP over plain sockets.
 */
#ifndef TAILRACE_TESTS_WEB_RIG_H
#define TAILRACE_TESTS_WEB_RIG_H

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/base/json_in.h"
#include "master/http/web.h"
#include "tests/unit/master/store/rig.h"

enum { REPLY_MAX = 64 << 20, PATIENCE_S = 20 };

struct web_rig {
    struct rig rig;
    struct config *config;
    struct web *web;
    struct mail_queue asked;
};

static const char web_rig_yaml[] = "master:\n"
                                   "  title: Test CI\n"
                                   "  listen: 127.0.0.1:0\n"
                                   "  web: 127.0.0.1:0\n"
                                   "%s"
                                   "slaves:\n"
                                   "  linux-[1-3]: {pools: [linux], slots: 2}\n"
                                   "  talos-1: {pools: [talos], labels: [quiet]}\n"
                                   "pools:\n"
                                   "  linux: {}\n"
                                   "  talos: {backlog: latest}\n"
                                   "projects:\n"
                                   "  sds:\n"
                                   "    git: /srv/sds.git\n"
                                   "    branches: [main, \"release-*\"]\n"
                                   "builders:\n"
                                   "  unit:\n"
                                   "    project: sds\n"
                                   "    pool: linux\n"
                                   "    steps: [checkout, {build: make}, {test: make check}]\n"
                                   "  narrow:\n"
                                   "    project: sds\n"
                                   "    pool: linux\n"
                                   "    max_running: 1\n"
                                   "    steps: [{build: make}]\n"
                                   "  bench:\n"
                                   "    project: sds\n"
                                   "    pool: talos\n"
                                   "    after: unit\n"
                                   "    needs: [quiet]\n"
                                   "    priority: low\n"
                                   "    steps: [{benchmark: [bin/bench, --json]}]\n";

static inline void web_rig_ask(void *owner, struct command *command)
{
    (void)mail_queue_post(&((struct web_rig *)owner)->asked, &command->mail);
}

/* more: lines for the section `master`. */
static inline struct config *web_rig_config(struct web_rig *w, const char *more)
{
    struct yaml_errors errors = {0};
    char *path = fs_join(w->rig.data, "master.yaml");
    char *text = xmalloc(sizeof web_rig_yaml + strlen(more));
    struct config *config;

    (void)snprintf(text, sizeof web_rig_yaml + strlen(more), web_rig_yaml, more);
    assert_int_equal(fs_replace(path, view_of(text), 0644, NULL), ERR_OK);
    config = config_load(path, &errors);
    for (size_t i = 0; i < errors.v.n; i++)
        print_error("%s\n", errors.v.v[i]);
    assert_non_null(config);
    yaml_errors_release(&errors);
    free(text);
    free(path);
    return config;
}

static inline void web_rig_start(struct web_rig *w)
{
    struct web_config config = {.config = w->config,
                                .data = w->rig.data,
                                .ask = web_rig_ask,
                                .owner = w,
                                .started_ms = 1700000000000};
    struct err err = ERR_INIT;

    if (web_start(&config, &w->web, &err) != ERR_OK)
        fail_msg("%s", err.msg);
}

static inline int web_rig_setup_with(void **state, const char *more)
{
    struct web_rig *w = xcalloc(1, sizeof *w);

    log_set_sink(quiet_sink, NULL);
    w->rig.data = folder_new();
    rig_open(&w->rig);
    rig_start(&w->rig);
    mail_queue_init(&w->asked);
    w->config = web_rig_config(w, more);
    web_rig_start(w);
    *state = w;
    return 0;
}

static inline int web_rig_setup(void **state)
{
    return web_rig_setup_with(state, "");
}

static inline int web_rig_teardown(void **state)
{
    struct web_rig *w = *state;
    struct mail *mail;

    if (w->web)
        web_stop(w->web);
    while ((mail = mail_queue_poll(&w->asked)))
        while (mail) {
            struct mail *next = mail->next;

            command_free((struct command *)mail);
            mail = next;
        }
    mail_queue_release(&w->asked);
    config_unref(&w->config);
    rig_stop(&w->rig);
    folder_remove(w->rig.data);
    free(w);
    return 0;
}

/* ---- HTTP ---- */

struct client {
    int fd;
    char *in; /* read, not yet taken */
    size_t n, cap;
    bool ended; /* the other side has closed */
};

struct reply {
    int status;
    char *head; /* all header lines, NUL-terminated */
    char *body; /* NUL-terminated */
    size_t n;
    bool cut; /* the connection ended before the body did */
    struct json *json;
};

static inline struct client *client_open(struct web_rig *w)
{
    struct client *client = xcalloc(1, sizeof *client);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(web_port(w->web))};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int one = 1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(client->fd >= 0);
    assert_int_equal(setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience),
                     0);
    assert_int_equal(setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one), 0);
    assert_int_equal(connect(client->fd, (struct sockaddr *)&to, sizeof to), 0);
    return client;
}

static inline void client_close(struct client *client)
{
    (void)close(client->fd);
    free(client->in);
    free(client);
}

static inline void client_write(struct client *client, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = send(client->fd, bytes, n, MSG_NOSIGNAL);

        if (done < 0)
            return; /* refused and closed: the reply says why */
        bytes += done;
        n -= (size_t)done;
    }
}

static inline void client_put(struct client *client, const char *text)
{
    client_write(client, text, strlen(text));
}

/* Reads more; false at the end. */
static inline bool client_more(struct client *client)
{
    ssize_t n;

    if (client->cap - client->n < 65536) {
        client->cap = 2 * client->cap + 65536 * 2;
        assert_true(client->cap < REPLY_MAX * 2UL);
        client->in = xrealloc(client->in, client->cap);
    }
    n = recv(client->fd, client->in + client->n, client->cap - client->n - 1, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        fail_msg("nothing came in %d s", PATIENCE_S);
    client->ended = n <= 0;
    if (n > 0)
        client->n += (size_t)n;
    client->in[client->n] = '\0';
    return n > 0;
}

static inline void client_drop(struct client *client, size_t n)
{
    memmove(client->in, client->in + n, client->n - n + 1);
    client->n -= n;
}

/* Takes up to n bytes as they come, at least one; 0 at the end. */
static inline size_t client_take(struct client *client, char *out, size_t n)
{
    if (client->n == 0 && !client_more(client))
        return 0;
    if (n > client->n)
        n = client->n;
    memcpy(out, client->in, n);
    client_drop(client, n);
    return n;
}

/* A line without its end, owned; NULL at the end. */
static inline char *client_line(struct client *client)
{
    char *end, *line;

    while (client->n == 0 || !(end = memchr(client->in, '\n', client->n))) {
        if (!client_more(client))
            return NULL;
    }
    line = xstrndup(client->in, (size_t)(end - client->in));
    client_drop(client, (size_t)(end - client->in) + 1);
    if (*line && line[strlen(line) - 1] == '\r')
        line[strlen(line) - 1] = '\0';
    return line;
}

static inline char *reply_header(const struct reply *reply, const char *name)
{
    static char value[1024];
    size_t n = strlen(name);

    for (const char *line = reply->head; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
            (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(line + n + 2, "\n"),
                           line + n + 2);
            return value;
        }
    }
    return NULL;
}

static inline void reply_release(struct reply *reply)
{
    free(reply->head);
    free(reply->body);
    json_free(reply->json);
    memset(reply, 0, sizeof *reply);
}

static inline void reply_add(struct reply *reply, struct client *client, size_t n)
{
    reply->body = xrealloc(reply->body, reply->n + n + 1);
    while (n > 0) {
        size_t got = client_take(client, reply->body + reply->n, n);

        if (got == 0) {
            reply->cut = true;
            break;
        }
        reply->n += got;
        n -= got;
    }
    reply->body[reply->n] = '\0';
}

/* The next chunk, appended; false at the last, or when the connection was cut. */
static inline bool reply_chunk(struct reply *reply, struct client *client)
{
    char *line = client_line(client);
    size_t n;

    if (!line) {
        reply->cut = true;
        return false;
    }
    n = strtoul(line, NULL, 16);
    free(line);
    if (n > 0)
        reply_add(reply, client, n);
    free(client_line(client));
    return n > 0 && !reply->cut;
}

static inline struct reply client_head(struct client *client)
{
    struct reply reply = {0};
    struct str head = STR_INIT(65536);
    char *line = client_line(client);

    reply.body = xcalloc(1, 1);
    if (!line)
        return reply;
    assert_int_equal(sscanf(line, "HTTP/1.%*d %d", &reply.status), 1);
    while (line && *line) {
        free(line);
        line = client_line(client);
        if (line)
            str_printf(&head, "%s\n", line);
    }
    assert_non_null(line); /* an empty line ends the headers */
    free(line);
    reply.head = str_detach(&head);
    return reply;
}

static inline struct reply client_reply(struct client *client, bool is_head)
{
    struct reply reply = client_head(client);
    const char *value;

    if (reply.status == 0 || is_head || reply.status == 304)
        return reply;
    value = reply_header(&reply, "Transfer-Encoding");
    if (value) {
        while (reply_chunk(&reply, client))
            ;
    } else if ((value = reply_header(&reply, "Content-Length"))) {
        reply_add(&reply, client, strtoul(value, NULL, 10));
    }
    return reply;
}

/* more: header lines, each with its \r\n. */
static inline void client_ask(struct client *client, const char *method, const char *path,
                              const char *more, const char *body)
{
    char *text = xasprintf("%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s", method, path, more);

    client_put(client, text);
    free(text);
    text = body ? xasprintf("Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                            strlen(body), body)
                : xstrdup("\r\n");
    client_put(client, text);
    free(text);
}

static inline void reply_parse(struct reply *reply)
{
    struct err err = ERR_INIT;

    if (json_parse(view_bytes(reply->body, reply->n), &reply->json, &err))
        fail_msg("%s in: %s", err.msg, reply->body);
}

static inline struct reply fetch(struct web_rig *w, const char *method, const char *path,
                                 const char *more, const char *body)
{
    struct client *client = client_open(w);
    struct reply reply;

    client_ask(client, method, path, more, body);
    reply = client_reply(client, strcmp(method, "HEAD") == 0);
    client_close(client);
    return reply;
}

static inline struct reply get(struct web_rig *w, const char *path)
{
    return fetch(w, "GET", path, "", NULL);
}

/* A GET below /api/v1 that must be answered with 200 and JSON. */
static inline struct reply get_json(struct web_rig *w, const char *path)
{
    char *whole = xasprintf("/api/v1%s", path);
    struct reply reply = get(w, whole);

    if (reply.status != 200)
        fail_msg("%s: %d %s", path, reply.status, reply.body);
    assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
    reply_parse(&reply);
    free(whole);
    return reply;
}

/* The reply is an error of that status and code; releases it. */
static inline void expect_error(struct reply *reply, int status, const char *code, const char *part)
{
    const char *message;

    if (reply->status != status)
        fail_msg("status %d instead of %d: %s", reply->status, status, reply->body);
    reply_parse(reply);
    message = json_get_text(json_get(reply->json, "error"), "message");
    assert_string_equal(json_get_text(json_get(reply->json, "error"), "code"), code);
    if (!message || !strstr(message, part))
        fail_msg("\"%s\" is not in \"%s\"", part, message ? message : "");
    reply_release(reply);
}

static inline void get_error(struct web_rig *w, const char *path, int status, const char *code,
                             const char *part)
{
    struct reply reply = get(w, path);

    expect_error(&reply, status, code, part);
}

/* ---- the master's part ---- */

static inline struct command *take_command(struct web_rig *w, enum command_kind kind)
{
    struct mail *mail = mail_queue_take(&w->asked);
    struct command *command = (struct command *)mail;

    assert_null(mail->next);
    assert_int_equal(command->kind, kind);
    return command;
}

/* Until the web knows of all events that were posted. */
static inline void web_rig_sync(struct web_rig *w)
{
    struct client *client = client_open(w);
    struct reply reply;

    client_ask(client, "GET", "/healthz", "", NULL);
    web_post_answer(w->web, take_command(w, COMMAND_PROBE));
    reply = client_reply(client, false);
    reply_release(&reply);
    client_close(client);
}

static inline void tell_build(struct web_rig *w, const struct build_info *info)
{
    struct event *event = event_new(EVENT_BUILD);

    build_info_copy(&event->build, info);
    web_post_event(w->web, event);
}

/* The build as the database has it. */
static inline void tell_stored_build(struct web_rig *w, uint64_t id)
{
    struct event *event = event_new(EVENT_BUILD);

    event->build = read_build(&w->rig, id);
    web_post_event(w->web, event);
}

static inline void tell_step(struct web_rig *w, uint64_t build, uint32_t number)
{
    struct event *event = event_new(EVENT_STEP);

    event->build_id = build;
    event->attempt = 1;
    event->step = read_step(&w->rig, build, number);
    web_post_event(w->web, event);
}

static inline void tell_log(struct web_rig *w, uint64_t build, uint32_t number)
{
    struct event *event = event_new(EVENT_LOG);
    struct step_info step = read_step(&w->rig, build, number);

    event->build_id = build;
    event->attempt = 1;
    event->step.number = number;
    memcpy(event->step.log, step.log, sizeof step.log);
    step_info_release(&step);
    web_post_event(w->web, event);
}

static inline void tell_slave(struct web_rig *w, const char *name, const char *pool,
                              enum slave_state state, uint64_t build)
{
    struct event *event = event_new(EVENT_SLAVE);
    struct slave_info *slave = &event->slave;

    slave->name = xstrdup(name);
    slave->state = state;
    vec_push(&slave->pools, xstrdup(pool));
    slave->slots = 2;
    slave->connected_ms = state == SLAVE_OFFLINE ? 0 : 1700000000000;
    slave->last_seen_ms = 1700000001000;
    slave->version = xstrdup("0.1.0");
    slave->platform = xstrdup("linux x86_64");
    if (build) {
        vec_push(&slave->builds, build);
        slave->running = 1;
    }
    web_post_event(w->web, event);
}

static inline void tell_pool(struct web_rig *w, const char *name, bool paused)
{
    struct event *event = event_new(EVENT_POOL);

    event->pool.name = xstrdup(name);
    event->pool.paused = paused;
    event->pool.slots = 2;
    event->pool.slaves = 1;
    web_post_event(w->web, event);
}

/* ---- builds in the database ---- */

static inline void make_build(struct web_rig *w, uint64_t id, const char *builder,
                              const char *branch)
{
    store_post(w->rig.store, create_op(&w->rig, id, builder, branch));
    rig_wait(&w->rig);
}

/* Build id of builder unit, running, with three steps. */
static inline void make_running(struct web_rig *w, uint64_t id)
{
    store_post(w->rig.store, create_op(&w->rig, id, "unit", "main"));
    post_attempt(&w->rig, id, 3);
    rig_wait(&w->rig);
}

static inline void make_finished(struct web_rig *w, uint64_t id, enum build_result result)
{
    make_running(w, id);
    store_post(w->rig.store, build_row_op(&w->rig, STORE_ATTEMPT_END, id, BUILD_FINISHED, result));
    rig_wait(&w->rig);
}

static inline void make_record(struct web_rig *w, uint64_t build, uint64_t number,
                               const struct msg *record)
{
    post_record(&w->rig, build, number, record);
    rig_wait(&w->rig);
}

#endif
