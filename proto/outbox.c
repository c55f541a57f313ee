#include "proto/outbox.h"

#include <assert.h>
#include <string.h>

#include "proto/frame.h"

void outbox_init(struct outbox *box, size_t control_max_bytes, size_t bulk_max_bytes)
{
    memset(box, 0, sizeof *box);
    box->lanes[MSG_LANE_CONTROL].max_bytes = control_max_bytes;
    box->lanes[MSG_LANE_BULK].max_bytes = bulk_max_bytes;
}

static void lane_drop(struct outbox_lane *lane)
{
    str_release(&lane->bytes);
    lane->head = 0;
}

void outbox_release(struct outbox *box)
{
    lane_drop(&box->lanes[MSG_LANE_CONTROL]);
    lane_drop(&box->lanes[MSG_LANE_BULK]);
}

void outbox_drop(struct outbox *box, enum msg_lane lane)
{
    assert(lane != MSG_LANE_RECORD);
    lane_drop(&box->lanes[lane]);
}

static size_t lane_waiting(const struct outbox_lane *lane)
{
    return lane->bytes.n - lane->head;
}

size_t outbox_waiting(const struct outbox *box, enum msg_lane lane)
{
    assert(lane != MSG_LANE_RECORD);
    return lane_waiting(&box->lanes[lane]);
}

/* Encodes behind what waits; on failure the caller cuts the lane back. */
static enum err_code append_frame(struct str *bytes, const struct msg *msg, struct err *err)
{
    size_t begin;
    size_t length;
    enum err_code rc = frame_begin(bytes, &begin, err);

    if (!rc)
        rc = msg_encode(msg, bytes, err);
    if (rc)
        return rc;
    length = bytes->n - begin - FRAME_HEADER_BYTES;
    if (length > FRAME_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "%s: a frame of %zu bytes, at most %d", msg_name(msg->type),
                       length, FRAME_MAX_BYTES);
    frame_end(bytes, begin);
    return ERR_OK;
}

enum err_code outbox_add(struct outbox *box, const struct msg *msg, size_t *frame_bytes,
                         struct err *err)
{
    enum msg_lane number = msg_lane(msg->type);
    struct outbox_lane *lane = &box->lanes[number];
    size_t before;
    enum err_code rc;

    assert(number != MSG_LANE_RECORD);
    if (lane->head > lane->bytes.n / 2) {
        str_consume(&lane->bytes, lane->head);
        lane->head = 0;
    }
    lane->bytes.max = lane->head + lane->max_bytes;
    before = lane->bytes.n;
    rc = append_frame(&lane->bytes, msg, err);
    if (rc) {
        str_cut(&lane->bytes, before);
        return rc;
    }
    *frame_bytes = lane->bytes.n - before;
    return ERR_OK;
}

/* How many bytes of whole frames to move: as many as fit, but at least one frame. */
static size_t lane_portion(const struct outbox_lane *lane, size_t most_bytes)
{
    size_t n = 0;

    if (lane_waiting(lane) <= most_bytes)
        return lane_waiting(lane);
    do {
        size_t at = lane->head + n;

        n += frame_bytes(view_bytes(lane->bytes.p + at, lane->bytes.n - at));
    } while (n < most_bytes);
    return n;
}

static void lane_take(struct outbox_lane *lane, struct str *out, size_t most_bytes)
{
    size_t n = lane_portion(lane, most_bytes);

    if (n == lane->bytes.n && !out->p) {
        /* All of it, and nothing stands there yet: the memory itself moves. */
        out->n = lane->bytes.n;
        out->cap = lane->bytes.cap;
        out->p = str_detach(&lane->bytes);
        return;
    }
    str_put_view(out, view_bytes(lane->bytes.p + lane->head, n));
    lane->head += n;
    if (lane->head == lane->bytes.n)
        lane_drop(lane);
}

void outbox_take(struct outbox *box, struct str *out, size_t most_bytes)
{
    size_t before = out->n;

    for (size_t i = 0; i < sizeof box->lanes / sizeof box->lanes[0]; i++) {
        if (lane_waiting(&box->lanes[i]) > 0 && out->n - before < most_bytes)
            lane_take(&box->lanes[i], out, most_bytes - (out->n - before));
    }
}
