/*
 * link: a session on a stream. The one file of proto that knows the loop. It reads, writes (control
 * frames first, at most 256 KiB handed to the system at a time, so that nothing important waits
 * behind bulk), beats, and closes with a reason.
 *
 * Life: link_new() takes over the stream; on_closed is the last callback, after which the link is
 * freed. link_close() may be called anywhere, any number of times. No callback comes from inside a
 * link_ call, except on_message and the handshake callbacks from the stream's data.
 */
#ifndef TAILRACE_PROTO_LINK_H
#define TAILRACE_PROTO_LINK_H

#include "common/io/loop.h"
#include "common/io/stream.h"
#include "proto/session.h"

struct link;

struct link_ops {
    struct session_ops session; /* owner is the link's owner */
    /* BULK may be sent (again): link_can_send_bulk() has become true. May be NULL. */
    void (*on_bulk_room)(void *owner);
    void (*on_closed)(void *owner, const struct err *why);
};

/* ops and owner are borrowed for the link's life. */
struct link *link_new(struct loop *loop, struct stream *stream, const struct session_config *config,
                      const struct link_ops *ops, void *owner);
/* The session, for session_hello(), session_challenge(), session_welcome(), session_probe(),
 * session_granted(); call link_flush() after them. */
struct session *link_session(struct link *link);
/* Queues and writes. ERR_LIMIT: the message does not fit, and the link is closed. ERR_AGAIN: BULK
 * without room; on_bulk_room follows. ERR_CANCELED: not READY, or closing. */
enum err_code link_send(struct link *link, const struct msg *msg);
bool link_can_send_bulk(const struct link *link);
/* Writes what the session has to say, and rearms the heartbeat. */
void link_flush(struct link *link);
/* Before READY: says why (REFUSED), writes that out for at most a second, closes. */
void link_refuse(struct link *link, const char *code, const char *reason, uint64_t retry_ms);
/* At once, also when last words are still going out; the first reason given stays. */
void link_close(struct link *link, const struct err *why);
/* Sends BYE with the reason (512 bytes at most), writes what is queued for at most grace_ms,
 * closes. Before READY it just closes. */
void link_bye(struct link *link, const char *reason, unsigned grace_ms);
const char *link_peer(const struct link *link);

#endif
