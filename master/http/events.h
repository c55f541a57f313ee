/*
 * events: the readers of GET /api/v1/events. Each event is written once and shared by all readers
 * that it is for; one that lets more than EVENTS_QUEUE_MAX bytes pile up is cut off.
 */
#ifndef TAILRACE_MASTER_HTTP_EVENTS_H
#define TAILRACE_MASTER_HTTP_EVENTS_H

#include <stdint.h>

#include "common/io/loop.h"
#include "master/event.h"
#include "master/http/server.h"

struct site;
struct events;

enum {
    EVENTS_QUEUE_MAX = 256 * 1024,
    EVENTS_ALIVE_MS = 15000, /* a comment after such a silence */
    EVENTS_LOG_GAP_MS = 100, /* between two `log` events of one step */
};

/* What a reader wants to hear of; zero and NULL mean everything. */
struct events_filter {
    uint64_t build;
    const char *branch, *builder;
};

struct events *events_new(struct site *site);
void events_free(struct events *events); /* NULL allowed; no reader is left */

/* Answers the request with the stream. */
void events_subscribe(struct events *events, struct request *request,
                      const struct events_filter *filter);
/* Tells all whom it concerns. The mirror knows of the event already, but for the end of a build,
 * whose event comes first. */
void events_publish(struct events *events, const struct event *event);
/* Looks for readers that have left, and tells the others that the master lives. */
void events_patrol(struct events *events);
/* Every stream ends. */
void events_stop(struct events *events);

#endif
