/*
 * stream: one connection's bytes in both directions, whatever carries them. This is the transport
 * interface: TCP implements it (tcp.h), tests join two ends in memory (tests/support/memstream.h),
 * TLS wraps another stream.
 *
 * Life: made by a dialer, a listener or a test; its owner sets ops with stream_own();
 * stream_close() may be called anywhere, any number of times, the first reason is kept; on_closed
 * comes once, last, from the loop, and the stream frees itself after it returns. Nothing is called
 * back from inside a stream_ call.
 */
#ifndef TAILRACE_COMMON_IO_STREAM_H
#define TAILRACE_COMMON_IO_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/io/loop.h"
#include "common/io/timer.h"

struct stream;

struct stream_ops {
    /* Bytes came; they are good during the call only. */
    void (*on_data)(void *owner, struct view bytes);
    /* The write queue fell to low water after it had been over high water. */
    void (*on_drain)(void *owner);
    /* The end: peer's end of input, a failure, or stream_close(). *why is good during the call. */
    void (*on_closed)(void *owner, const struct err *why);
};

/* What a transport implements. Each may assume the state that the stream_ functions below check. */
struct stream_impl {
    void (*read)(struct stream *stream, bool on);
    /* Takes over bytes (malloc'ed). Calls stream_wrote() for them later, from the loop; or inside
     * when nothing was pending before. */
    void (*write)(struct stream *stream, char *bytes, size_t n);
    /* Starts closing; stream_gone() from the loop when all is over. */
    void (*close)(struct stream *stream);
    void (*free)(struct stream *stream);
    /* For stream_finish(), once nothing is pending: tells the peer that no more comes, and reads on
     * until its end of input, so that bytes on their way here do not make the system throw away
     * what was written. NULL: closes at once. */
    void (*end)(struct stream *stream);
};

enum { STREAM_HIGH_BYTES = 256 * 1024, STREAM_LOW_BYTES = 64 * 1024, STREAM_HARD_BYTES = 8 << 20 };

/* The common head of every transport's own struct. */
struct stream {
    const struct stream_impl *impl;
    const struct stream_ops *ops;
    void *owner;
    struct loop *loop;
    size_t pending;    /* bytes written by the owner, not yet taken by the system */
    size_t hard_bytes; /* over this many pending the stream is closed with ERR_LIMIT */
    bool over_high;
    bool reading;
    bool finishing; /* stream_finish() was called */
    bool closing;
    struct timer grace; /* of stream_finish() */
    struct err why;
    char peer[64]; /* "127.0.0.1:40312", for logs */
};

/* Sets who is called. Reading starts with stream_read(). */
void stream_own(struct stream *stream, const struct stream_ops *ops, void *owner);
void stream_read(struct stream *stream, bool on);
/* Takes over n malloc'ed bytes, also when the stream is closing already (then they are just freed).
 */
void stream_write(struct stream *stream, char *bytes, size_t n);
size_t stream_pending(const struct stream *stream);
/* Whether the owner should stop producing until on_drain. */
bool stream_is_full(const struct stream *stream);
/* Begins the end. why is copied; NULL means that we wanted it (ERR_OK, "closed by this side").
 * Pending writes are dropped. */
void stream_close(struct stream *stream, const struct err *why);
/* Reads no more, writes what is pending, waits for the peer's end, then closes; after grace_ms it
 * closes anyway. */
void stream_finish(struct stream *stream, const struct err *why, unsigned grace_ms);

/* For transports. */
void stream_init(struct stream *stream, struct loop *loop, const struct stream_impl *impl);
void stream_data(struct stream *stream, struct view bytes);
void stream_wrote(struct stream *stream, size_t n);
void stream_fail(struct stream *stream, const struct err *why); /* closes with that reason */
void stream_ended(struct stream *stream); /* the peer's end of input: closes */
void stream_gone(struct stream *stream);  /* reports on_closed and frees */

#endif
