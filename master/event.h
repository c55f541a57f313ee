/*
 * event: what the loop tells the web after it became durable. The web keeps a mirror of slaves,
 * pools and unfinished builds from them, and passes them on to the readers of /api/v1/events. An
 * event is owned by the receiver.
 */
#ifndef TAILRACE_MASTER_EVENT_H
#define TAILRACE_MASTER_EVENT_H

#include "common/io/mailbox.h"
#include "master/config.h"
#include "master/model.h"

enum event_kind {
    EVENT_BUILD, /* new, or changed state, result, revision... */
    EVENT_STEP,
    EVENT_LOG,        /* a log grew */
    EVENT_POINTS,     /* benchmark points were stored */
    EVENT_SLAVE,      /* changed */
    EVENT_SLAVE_GONE, /* left the configuration; slave.name alone is set */
    EVENT_CHANGE,
    EVENT_POOL,
    EVENT_POOL_GONE,
    EVENT_CONFIG, /* config: the one in force; text: the error of a reload that failed, or NULL */
    EVENT_HEALTH, /* text: what the store says, or NULL */
};

struct event {
    struct mail mail;
    enum event_kind kind;
    uint64_t build_id; /* STEP, LOG, POINTS */
    uint32_t attempt;
    struct build_info build;
    struct step_info step; /* LOG: number and log[] only */
    struct slave_info slave;
    struct change_info change;
    struct pool_info pool;
    struct config *config;
    char *text;
};

struct event *event_new(enum event_kind kind);
void event_free(struct event *event);

#endif
