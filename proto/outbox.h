/*
 * outbox: frames that wait to go out, in two lanes: control frames go first, bulk follows. Pure.
 * Holds memory only while frames wait.
 */
#ifndef TAILRACE_PROTO_OUTBOX_H
#define TAILRACE_PROTO_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "proto/codec.h"

struct outbox_lane {
    struct str bytes; /* whole frames */
    size_t head;      /* so many bytes of it have left */
    size_t max_bytes;
};

struct outbox {
    struct outbox_lane lanes[2]; /* MSG_LANE_CONTROL, MSG_LANE_BULK */
};

void outbox_init(struct outbox *box, size_t control_max_bytes, size_t bulk_max_bytes);
void outbox_release(struct outbox *box);
/* Encodes msg as a frame of its lane and gives the frame's length. ERR_LIMIT when the lane or a
 * frame would be over its maximum, or the message over its own limits; nothing is queued then. */
enum err_code outbox_add(struct outbox *box, const struct msg *msg, size_t *frame_bytes,
                         struct err *err) TAILRACE_MUST_CHECK;
size_t outbox_waiting(const struct outbox *box, enum msg_lane lane);
void outbox_drop(struct outbox *box, enum msg_lane lane);
/* Moves frames to the end of *out until about most_bytes are there; a frame is never split. */
void outbox_take(struct outbox *box, struct str *out, size_t most_bytes);

#endif
