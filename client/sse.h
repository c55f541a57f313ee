/*
 * sse: the parser of server-sent events (text/event-stream). Bytes go in as they come, in pieces of
 * any size; whole events come out. Pure.
 */
#ifndef TAILRACE_CLIENT_SSE_H
#define TAILRACE_CLIENT_SSE_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/base/str.h"

enum { SSE_EVENT_MAX = 4 * 1024 * 1024 };

struct sse {
    struct str line; /* the line that has not ended yet */
    struct str name; /* of the event under way; empty: "message" */
    struct str data;
    bool has_data;
    bool after_cr; /* the last byte was CR: an LF now belongs to it */
    bool begun;    /* past the place where a byte order mark may stand */
};

/* One whole event; name and data are good until the call returns. */
typedef void (*sse_on_event)(void *arg, const char *name, struct view data);

void sse_init(struct sse *sse);
void sse_release(struct sse *sse);
/* Calls on_event for every event that these bytes complete. ERR_LIMIT: a line or an event is longer
 * than SSE_EVENT_MAX, and the stream can only be given up. */
enum err_code sse_feed(struct sse *sse, struct view bytes, sse_on_event on_event, void *arg,
                       struct err *err) TAILRACE_MUST_CHECK;

#endif
