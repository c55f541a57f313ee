#include "common/io/httpc.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/clock.h"
#include "common/base/mem.h"

enum { HTTPC_HEADER_MAX = 8 * 1024, HTTPC_BUFFER_BYTES = 128 * 1024 };

struct httpc {
    CURL *easy;
    char error[CURL_ERROR_SIZE];
};

/* One request under way. */
struct call {
    const struct httpc_request *request;
    struct httpc_reply *reply;
    CURL *easy;
    struct curl_slist *lines;
    const struct clock *clock;
    uint64_t moved_ms; /* when bytes last went either way */
    curl_off_t sent;
    bool idle; /* ended by us because nothing moved */
};

struct httpc *httpc_new(void)
{
    struct httpc *c = xcalloc(1, sizeof *c);

    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    c->easy = curl_easy_init();
    if (!c->easy) {
        (void)fputs("tailrace: libcurl does not start\n", stderr);
        abort();
    }
    return c;
}

void httpc_free(struct httpc *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->easy);
    curl_global_cleanup();
    free(c);
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct call *call = arg;
    const struct httpc_request *request = call->request;
    long status = 0;

    call->moved_ms = clock_mono_ms(call->clock);
    if (!request->ops)
        return size * n;
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (request->ops->body(request->arg, (int)status, view_bytes(p, size * n)))
        return size * n;
    call->reply->stopped = true;
    return 0;
}

/* Copies the value of "Name: value\r\n" when its name is wanted. */
static void wanted_take(struct httpc_wanted *wanted, const char *line, size_t n)
{
    size_t name_n = strlen(wanted->name);

    if (n <= name_n || line[name_n] != ':' || strncasecmp(line, wanted->name, name_n) != 0)
        return;
    line += name_n + 1;
    n -= name_n + 1;
    while (n && (*line == ' ' || *line == '\t')) {
        line++;
        n--;
    }
    while (n && strchr(" \t\r\n", line[n - 1]))
        n--;
    (void)snprintf(wanted->value, sizeof wanted->value, "%.*s", (int)n, line);
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct call *call = arg;

    call->moved_ms = clock_mono_ms(call->clock);
    for (size_t i = 0; i < call->request->wanted_n; i++)
        wanted_take(&call->request->wanted[i], p, size * n);
    return size * n;
}

/* libcurl calls this at least once a second, which makes it the place for ticks and the idle limit.
 */
static int on_progress(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    struct call *call = arg;
    const struct httpc_request *request = call->request;
    uint64_t now_ms = clock_mono_ms(call->clock);

    (void)down_total;
    (void)down;
    (void)up_total;
    if (up != call->sent) {
        call->sent = up;
        call->moved_ms = now_ms;
    }
    if (now_ms - call->moved_ms >= (request->idle_ms ? request->idle_ms : HTTPC_IDLE_MS)) {
        call->idle = true;
        return 1;
    }
    if (request->ops && request->ops->tick && !request->ops->tick(request->arg)) {
        call->reply->stopped = true;
        return 1;
    }
    return 0;
}

static bool line_add(struct call *call, const char *line)
{
    struct curl_slist *grown = curl_slist_append(call->lines, line);

    if (!grown)
        return false;
    call->lines = grown;
    return true;
}

static void headers_set(struct call *call)
{
    const struct httpc_request *request = call->request;
    struct str line = STR_INIT(HTTPC_HEADER_MAX);
    bool ok = true;

    for (size_t i = 0; i < request->headers_n; i++)
        ok = ok && line_add(call, request->headers[i]);
    if (request->token && *request->token) {
        str_printf(&line, "Authorization: Bearer %.4096s", request->token);
        ok = ok && line_add(call, str_cstr(&line));
    }
    if (request->body.n) {
        str_clear(&line);
        str_printf(&line, "Content-Type: %.256s",
                   request->content_type ? request->content_type : "application/json");
        ok = ok && line_add(call, str_cstr(&line));
    } else {
        /* Or an empty body would be sent as a form. */
        ok = ok && line_add(call, "Content-Type:");
    }
    /* Waiting a second for "100 Continue" would be longer than sending what we send. */
    ok = ok && line_add(call, "Expect:");
    if (ok)
        (void)curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->lines);
    str_release(&line);
}

static void method_set(CURL *easy, const struct httpc_request *request)
{
    const char *method = request->method ? request->method : "GET";

    if (strcmp(method, "GET") == 0) {
        (void)curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    (void)curl_easy_setopt(easy, CURLOPT_POST, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.n);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.n ? request->body.p : "");
}

/* A proxy named in the environment is meant for the world, not for this machine. */
static bool url_is_loopback(const char *url)
{
    static const char *const hosts[] = {"127.", "localhost:", "localhost/", "[::1]"};
    const char *host = strstr(url, "://");

    if (!host)
        return false;
    host += strlen("://");
    if (strcasecmp(host, "localhost") == 0)
        return true;
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (strncasecmp(host, hosts[i], strlen(hosts[i])) == 0)
            return true;
    return false;
}

static void options_set(struct httpc *c, struct call *call)
{
    const struct httpc_request *request = call->request;
    uint64_t connect_ms = request->connect_ms ? request->connect_ms : HTTPC_CONNECT_MS;

    curl_easy_reset(c->easy); /* keeps the connection */
    c->error[0] = '\0';
    (void)curl_easy_setopt(c->easy, CURLOPT_ERRORBUFFER, c->error);
    (void)curl_easy_setopt(c->easy, CURLOPT_URL, request->url);
    (void)curl_easy_setopt(c->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(c->easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(c->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(c->easy, CURLOPT_USERAGENT, "tailrace/" TAILRACE_VERSION);
    (void)curl_easy_setopt(c->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    if (url_is_loopback(request->url))
        (void)curl_easy_setopt(c->easy, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(c->easy, CURLOPT_BUFFERSIZE, (long)HTTPC_BUFFER_BYTES);
    if (request->compressed)
        (void)curl_easy_setopt(c->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    (void)curl_easy_setopt(c->easy, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(c->easy, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(c->easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(c->easy, CURLOPT_HEADERDATA, call);
    (void)curl_easy_setopt(c->easy, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(c->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(c->easy, CURLOPT_XFERINFODATA, call);
    method_set(c->easy, request);
    headers_set(call);
}

static enum err_code code_of(CURLcode rc)
{
    switch (rc) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return ERR_CONFIG;
    case CURLE_OPERATION_TIMEDOUT:
        return ERR_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return ERR_AUTH;
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_BAD_CONTENT_ENCODING:
        return ERR_AGAIN;
    default:
        return ERR_IO;
    }
}

/* libcurl takes an answer that does not begin like HTTP for one of HTTP/0.9, which it refuses as a
 * protocol; it uses the same code for a URL's, but that before it connects. */
static bool is_no_http(CURL *easy, CURLcode rc)
{
    curl_off_t connected_us = 0;

    (void)curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected_us);
    return rc == CURLE_WEIRD_SERVER_REPLY || (rc == CURLE_UNSUPPORTED_PROTOCOL && connected_us > 0);
}

enum err_code httpc_run(struct httpc *c, const struct httpc_request *request,
                        struct httpc_reply *reply, struct err *err)
{
    struct call call = {.request = request, .reply = reply, .easy = c->easy};
    long status = 0;
    CURLcode rc;

    *reply = (struct httpc_reply){0, false};
    for (size_t i = 0; i < request->wanted_n; i++)
        request->wanted[i].value[0] = '\0';
    call.clock = clock_system();
    call.moved_ms = clock_mono_ms(call.clock);
    options_set(c, &call);
    rc = curl_easy_perform(c->easy);
    (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
    reply->status = (int)status;
    curl_slist_free_all(call.lines);
    if (rc == CURLE_OK || reply->stopped)
        return ERR_OK;
    if (call.idle)
        return err_set(err, ERR_TIMEOUT, "nothing arrived for %llu s",
                       (unsigned long long)(request->idle_ms ? request->idle_ms : HTTPC_IDLE_MS) /
                           1000);
    if (is_no_http(c->easy, rc))
        return err_set(err, ERR_PROTO, "what answers there does not speak HTTP");
    return err_set(err, code_of(rc), "%s", c->error[0] ? c->error : curl_easy_strerror(rc));
}
