/*
 * follow: logs that are read while they grow. A stream sleeps at the log's end and goes on when an
 * event says that it may have grown; it ends with the step. Web thread.
 */
#ifndef TAILRACE_MASTER_HTTP_FOLLOW_H
#define TAILRACE_MASTER_HTTP_FOLLOW_H

#include "master/event.h"
#include "master/http/server.h"
#include "master/http/steplog.h"

struct site;
struct follows;

struct follows *follows_new(struct site *site);
void follows_free(struct follows *follows); /* NULL allowed; no stream is left */

/* Answers the request with the log's bytes from offset on; its headers were added. */
void follows_start(struct follows *follows, struct request *request, const struct steplog *log,
                   uint64_t offset);
/* Wakes those whom it concerns. */
void follows_event(struct follows *follows, const struct event *event);
/* Looks for readers that have left. */
void follows_patrol(struct follows *follows);
/* Every stream is cut. */
void follows_stop(struct follows *follows);

#endif
