/*
 * errand: a command on its way to the loop and back, and the request that waits for it. The request
 * may leave, and the web may stop, before the answer comes.
 */
#ifndef TAILRACE_MASTER_HTTP_ERRAND_H
#define TAILRACE_MASTER_HTTP_ERRAND_H

#include "common/io/timer.h"
#include "master/command.h"
#include "master/http/server.h"

struct site;
struct errand;

struct errands {
    struct errand *list;
};

/* Answers the request with what the loop said. */
typedef void (*errand_answer)(struct site *site, struct request *request,
                              const struct command *command);

/* Sends the command, which is the errand's from here on. After wait_ms the request is answered with
 * 503 and `late`; the command's answer is then thrown away when it comes. */
struct errand_order {
    struct command *command;
    errand_answer answer;
    uint64_t wait_ms;
    const char *late; /* constant */
};
void errand_send(struct site *site, struct request *request, const struct errand_order *order);

/* All requests that wait are answered with 503. */
void errands_stop(struct errands *errands);
/* When no answer can come any more. Commands still with the loop are the loop's. */
void errands_release(struct errands *errands);

#endif
