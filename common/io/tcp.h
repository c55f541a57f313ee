/*
 * tcp: the stream over a TCP socket. TCP_NODELAY is on; end of input closes.
 */
#ifndef TAILRACE_COMMON_IO_TCP_H
#define TAILRACE_COMMON_IO_TCP_H

#include "common/io/stream.h"

/* A stream whose uv_tcp_t is initialised and not yet connected; for listener.c and dialer.c. Closed
 * by stream_close(). */
struct stream *tcp_new(struct loop *loop);
uv_tcp_t *tcp_handle(struct stream *stream);
/* After connect or accept: fills stream->peer, sets options. */
void tcp_connected(struct stream *stream);

#endif
