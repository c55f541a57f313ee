/*
 * listener: a TCP port that others dial.
 */
#ifndef TAILRACE_COMMON_IO_LISTENER_H
#define TAILRACE_COMMON_IO_LISTENER_H

#include <stdint.h>

#include "common/io/loop.h"
#include "common/io/stream.h"

struct listener;

struct listener_ops {
    /* The new stream is the owner's: it calls stream_own() and stream_read() on it, or closes it.
     */
    void (*on_accept)(void *owner, struct stream *stream);
    /* After listener_close(): the last call; the listener frees itself after it. May be NULL. */
    void (*on_closed)(void *owner);
};

/* address: "HOST:PORT", "[v6]:PORT"; HOST is a numeric address or "localhost"; port 0 takes any
 * free one. *out closes with listener_close(). ERR_CONFIG for a bad address, ERR_IO when it cannot
 * be had (the sentence names it). When out of descriptors it pauses for 100 ms instead of spinning.
 */
enum err_code listener_open(struct loop *loop, const char *address, const struct listener_ops *ops,
                            void *owner, struct listener **out,
                            struct err *err) TAILRACE_MUST_CHECK;
uint16_t listener_port(const struct listener *listener);
void listener_close(struct listener *listener);

/* Splits "HOST:PORT" or "[v6]:PORT". host is an owned copy. ERR_CONFIG with a sentence. */
enum err_code address_split(const char *address, char **host, uint16_t *port,
                            struct err *err) TAILRACE_MUST_CHECK;
/* Whether a listening or dialled HOST means this machine only. */
bool address_is_loopback(const char *host);

#endif
