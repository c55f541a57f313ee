/*
 * answer: what nearly every answer is made of: JSON, the headers that keep browsers careful, and
 * errors as docs/rest.md has them.
 */
#ifndef TAILRACE_MASTER_HTTP_ANSWER_H
#define TAILRACE_MASTER_HTTP_ANSWER_H

#include "common/base/err.h"
#include "common/base/json_out.h"
#include "master/http/server.h"

/* A document under construction: answer_begin(), write to json, then answer_send(). */
struct answer {
    struct str body;
    struct json_out json;
};

void answer_begin(struct answer *answer);
/* Sends it and releases everything. */
void answer_send(struct answer *answer, struct request *request, int status);
/* Forgets it. */
void answer_drop(struct answer *answer);

/* {"error": {"code", "message"}} */
void answer_error(struct request *request, int status, const char *code, const char *fmt, ...)
    TAILRACE_PRINTF(4, 5);
/* The status that fits the code. */
void answer_err(struct request *request, const struct err *err);
int answer_status(enum err_code code);
void answer_text(struct request *request, int status, const char *text);

/* For answers that browsers show as they are: nothing in them may act. */
void answer_add_careful(struct request *request);

#endif
