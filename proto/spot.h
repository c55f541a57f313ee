/*
 * spot: the place of a value within a message, for sentences such as "START.steps[3].name: text of
 * 70 bytes, at most 64". A chain on the stack, from the inside out, that costs nothing until
 * something is wrong.
 */
#ifndef TAILRACE_PROTO_SPOT_H
#define TAILRACE_PROTO_SPOT_H

#include <stddef.h>

#include "common/base/err.h"

struct spot {
    const struct spot *up;
    const char *name; /* NULL for an element of a list */
    size_t index;
};

/* Sets *err to the place and the formatted sentence; returns code. */
enum err_code spot_refuse(const struct spot *spot, enum err_code code, struct err *err,
                          const char *fmt, ...) TAILRACE_PRINTF(4, 5);

#endif
