#include "client/api.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/retry.h"
#include "client/uri.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#define API_MASTER_DEFAULT "http://127.0.0.1:8010"

enum { API_TOKEN_MAX = 4096, API_TRIES = 4, API_MESSAGE_MAX = 400 };

void api_reply_release(struct api_reply *reply)
{
    str_release(&reply->body);
    json_free(reply->doc);
    reply->doc = NULL;
    reply->status = 0;
}

/* The token is the file's content without white space around it. */
static enum err_code token_read(const char *path, char **out, struct err *err)
{
    char text[API_TOKEN_MAX + 1];
    struct view token = {text, 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return err_set_sys(err, errno, "token file %s", path);
    n = read(fd, text, sizeof text);
    (void)close(fd);
    if (n < 0)
        return err_set_sys(err, errno, "token file %s", path);
    token.n = (size_t)n;
    while (token.n && strchr(" \t\r\n", token.p[token.n - 1]))
        token.n--;
    while (token.n && strchr(" \t\r\n", *token.p)) {
        token.p++;
        token.n--;
    }
    if (token.n == 0 || token.n > API_TOKEN_MAX || memchr(token.p, '\n', token.n))
        return err_set(err, ERR_CONFIG, "token file %s: expected one line, the token", path);
    *out = view_dup(token);
    return ERR_OK;
}

static char *token_default_path(void)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");

    if (config && *config)
        return xasprintf("%s/tailrace/token", config);
    return home ? xasprintf("%s/.config/tailrace/token", home) : NULL;
}

static enum err_code token_find(const char *token_file_arg, char **out, struct err *err)
{
    const char *token = getenv("TAILRACE_TOKEN");
    char *path;
    enum err_code rc = ERR_OK;

    if (token_file_arg)
        return token_read(token_file_arg, out, err);
    if (token) {
        if (strlen(token) > API_TOKEN_MAX || strpbrk(token, "\r\n"))
            return err_set(err, ERR_CONFIG, "TAILRACE_TOKEN: expected one line, the token");
        *out = xstrdup(token);
        return ERR_OK;
    }
    path = token_default_path();
    if (path && access(path, F_OK) == 0)
        rc = token_read(path, out, err);
    free(path);
    return rc;
}

enum err_code api_init(struct api *api, const char *master_arg, const char *token_file_arg,
                       struct err *err)
{
    const char *master = master_arg ? master_arg : getenv("TAILRACE_MASTER");
    struct api made = {0};
    enum err_code rc;

    rc = uri_master(master && *master ? master : API_MASTER_DEFAULT, &made.master, err);
    if (rc == ERR_OK)
        rc = token_find(token_file_arg, &made.token, err);
    if (rc) {
        free(made.master);
        return rc;
    }
    made.http = httpc_new();
    *api = made;
    return ERR_OK;
}

void api_release(struct api *api)
{
    httpc_free(api->http);
    free(api->master);
    free(api->token);
    *api = (struct api){0};
}

char *api_url(const struct api *api, const char *path)
{
    return xasprintf("%s/api/v1%s", api->master, path);
}

static enum err_code code_of_status(int status)
{
    switch (status) {
    case 401:
    case 403:
        return ERR_AUTH;
    case 404:
        return ERR_NOTFOUND;
    case 502:
    case 503:
    case 504:
        return ERR_AGAIN;
    default:
        return ERR_CONFIG;
    }
}

enum err_code api_refusal(int status, struct view body, struct err *err)
{
    struct json *doc = NULL;
    struct str text = STR_INIT(8 * API_MESSAGE_MAX);
    const char *message = NULL;
    enum err_code rc = code_of_status(status);

    if (json_parse(body, &doc, NULL) == ERR_OK)
        message = json_get_text(json_get(doc, "error"), "message");
    if (message)
        text_escape(&text, view_of(message), API_MESSAGE_MAX);
    else
        str_printf(&text, "the master answered with HTTP status %d", status);
    if (status == 401)
        str_put(&text, " (give a token with TAILRACE_TOKEN or --token-file)");
    (void)err_set(err, rc, "%s", str_cstr(&text));
    str_release(&text);
    json_free(doc);
    return rc;
}

bool api_worth_retrying(enum err_code rc)
{
    return rc == ERR_IO || rc == ERR_AGAIN || rc == ERR_TIMEOUT;
}

/* An answer that is not HTTP: most likely the port of the slaves was given. */
static enum err_code not_http(const struct api *api, struct err *err)
{
    const char *mark = strstr(api->master, "://");
    const char *host = mark ? mark + strlen("://") : api->master;

    return err_set(err, ERR_PROTO, "%.*s does not speak HTTP; is it the master's web address?",
                   (int)strcspn(host, "/"), host);
}

struct taking {
    struct str *body;
    bool too_long;
};

static bool take_body(void *arg, int status, struct view bytes)
{
    struct taking *taking = arg;

    (void)status;
    taking->too_long = str_append(taking->body, bytes.p, bytes.n, NULL) != ERR_OK;
    return !taking->too_long;
}

static enum err_code try_once(struct api *api, const struct httpc_request *request,
                              struct api_reply *reply, struct err *err)
{
    static const struct httpc_ops ops = {take_body, NULL};
    struct httpc_request mine = *request;
    struct httpc_reply answer;
    struct taking taking = {&reply->body, false};
    enum err_code rc;

    json_free(reply->doc);
    reply->doc = NULL;
    reply->status = 0;
    str_clear(&reply->body);
    mine.ops = &ops;
    mine.arg = &taking;
    rc = httpc_run(api->http, &mine, &answer, err);
    if (rc == ERR_PROTO)
        return not_http(api, err);
    if (rc) {
        err_prefix(err, "no answer from the master at %s", api->master);
        return rc;
    }
    if (taking.too_long)
        return err_set(err, ERR_LIMIT, "the master's answer is over %d bytes", API_BODY_MAX);
    reply->status = answer.status;
    if (answer.status < 200 || answer.status > 299)
        return api_refusal(answer.status, str_view(&reply->body), err);
    rc = json_parse(str_view(&reply->body), &reply->doc, err);
    if (rc)
        err_prefix(err, "%s does not answer like a Tailrace master", api->master);
    return rc;
}

enum err_code api_call(struct api *api, const char *method, const char *path, struct view body,
                       const char *key, struct api_reply *reply, struct err *err)
{
    char *url = api_url(api, path);
    char *key_line = xasprintf("Idempotency-Key: %s", key ? key : "");
    const char *const headers[] = {"Accept: application/json", key_line};
    const struct httpc_request request = {.method = method,
                                          .url = url,
                                          .token = api->token,
                                          .headers = headers,
                                          .headers_n = key ? 2 : 1,
                                          .body = body,
                                          .compressed = true};
    bool repeatable = key || strcmp(method, "GET") == 0;
    struct retry retry = RETRY_INIT;
    enum err_code rc;

    rc = try_once(api, &request, reply, err);
    /* A connection that broke says nothing about the call; one that was refused says there is no
     * master. */
    for (int tries = 1; rc == ERR_AGAIN && reply->status == 0 && repeatable && tries < API_TRIES;
         tries++) {
        retry_sleep(retry_next_ms(&retry));
        rc = try_once(api, &request, reply, err);
    }
    free(key_line);
    free(url);
    return rc;
}

enum err_code api_get(struct api *api, const char *path, struct api_reply *reply, struct err *err)
{
    return api_call(api, "GET", path, VIEW_NULL, NULL, reply, err);
}
