/*
 * web: the HTTP thread. Reads through its own database connection and straight from log files; its
 * picture of slaves, pools and running builds comes from the loop's events; what changes anything
 * goes to the loop as a command. DESIGN section 3, docs/rest.md.
 */
#ifndef TAILRACE_MASTER_HTTP_WEB_H
#define TAILRACE_MASTER_HTTP_WEB_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/io/mailbox.h"
#include "master/command.h"
#include "master/config.h"
#include "master/event.h"

struct web;

struct web_config {
    struct config *config; /* referenced by the web for as long as it needs */
    const char *data;      /* DATA; copied */
    /* The loop's mailbox for commands, each with deliver set by `ask`. Called on the web's thread;
     * takes over the command. */
    void (*ask)(void *owner, struct command *command);
    void *owner;
    int64_t started_ms;
};

/* Listens (so that a port that is taken is an error at start) and starts the thread. */
enum err_code web_start(const struct web_config *config, struct web **out,
                        struct err *err) TAILRACE_MUST_CHECK;
uint16_t web_port(const struct web *web);
/* From the loop's thread; takes over the event. */
void web_post_event(struct web *web, struct event *event);
/* From the loop's thread: an answered command goes back. */
void web_post_answer(struct web *web, struct command *command);
/* From the loop's thread: no new connections, open ones are ended, waits for the thread (at most
 * about 500 ms), frees. Commands still under way must not be answered after it. */
void web_stop(struct web *web);

#endif
