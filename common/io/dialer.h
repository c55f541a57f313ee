/*
 * dialer: one attempt to connect to HOST:PORT (names are resolved, each address is tried), with a
 * time limit.
 */
#ifndef TAILRACE_COMMON_IO_DIALER_H
#define TAILRACE_COMMON_IO_DIALER_H

#include <stdint.h>

#include "common/io/loop.h"
#include "common/io/stream.h"

struct dialer;

/* Called once from the loop: stream is the owner's, or NULL and *why says what failed. The dialer
 * is gone after it. */
typedef void (*dialer_done)(void *owner, struct stream *stream, const struct err *why);

struct dialer *dialer_start(struct loop *loop, const char *host, uint16_t port, uint64_t timeout_ms,
                            dialer_done done, void *owner);
/* done is not called any more; frees in its own time. */
void dialer_cancel(struct dialer *dialer);

#endif
