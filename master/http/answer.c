#include "master/http/answer.h"

#include <stdarg.h>
#include <stdio.h>

enum { ANSWER_MAX = 512 << 20 };

void answer_begin(struct answer *answer)
{
    answer->body = (struct str)STR_INIT(ANSWER_MAX);
    json_out_init(&answer->json, &answer->body);
}

void answer_add_careful(struct request *request)
{
    request_set_header(request, "X-Content-Type-Options", "nosniff");
    request_set_header(request, "Referrer-Policy", "no-referrer");
    request_set_header(request, "Content-Security-Policy",
                       "default-src 'none'; frame-ancestors 'none'; sandbox");
}

void answer_send(struct answer *answer, struct request *request, int status)
{
    request_set_header(request, "Content-Type", "application/json");
    request_set_header(request, "Cache-Control", "no-store");
    answer_add_careful(request);
    request_answer(request, status, &answer->body);
}

void answer_drop(struct answer *answer)
{
    str_release(&answer->body);
}

static void put_error(struct json_out *json, const char *code, const char *message)
{
    json_object(json);
    json_key(json, "error");
    json_object(json);
    json_kv_str(json, "code", code);
    json_kv_str(json, "message", message);
    json_end(json);
    json_end(json);
}

void answer_error(struct request *request, int status, const char *code, const char *fmt, ...)
{
    struct answer answer;
    char message[ERR_MSG_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    answer_begin(&answer);
    put_error(&answer.json, code, message);
    answer_send(&answer, request, status);
}

int answer_status(enum err_code code)
{
    switch (code) {
    case ERR_CONFIG:
        return 400;
    case ERR_AUTH:
        return 403;
    case ERR_NOTFOUND:
        return 404;
    case ERR_EXISTS:
        return 409;
    case ERR_LIMIT:
        return 413;
    case ERR_NOSPACE:
    case ERR_AGAIN:
    case ERR_TIMEOUT:
        return 503;
    case ERR_OK:
    case ERR_IO:
    case ERR_CANCELED:
    case ERR_PROTO:
        break;
    }
    return 500;
}

void answer_err(struct request *request, const struct err *err)
{
    answer_error(request, answer_status(err->code), err_code_name(err->code), "%s", err->msg);
}

void answer_text(struct request *request, int status, const char *text)
{
    struct str body = STR_INIT(64 * 1024);

    str_put(&body, text);
    str_putc(&body, '\n');
    request_set_header(request, "Content-Type", "text/plain; charset=utf-8");
    request_set_header(request, "Cache-Control", "no-store");
    answer_add_careful(request);
    request_answer(request, status, &body);
}
