#include "tests/support/memstream.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/io/timer.h"

/* One stream_write(), or the end of input when it has no bytes. */
struct chunk {
    struct chunk *next;
    char *bytes;
    size_t n, sent;
    unsigned passes_left;
};

struct end {
    struct stream stream;
    struct memstream *pair;
    struct timer gone;
};

/* What one end sends. */
struct lane {
    struct memstream *pair;
    int side;
    struct chunk *head, **tail;
    struct timer tick; /* runs in each pass while there is something to deliver */
    bool bytewise, blocked;
    unsigned delay_passes;
    size_t cut_after; /* SIZE_MAX: never */
};

struct memstream {
    struct end *ends[2]; /* NULL once gone */
    struct lane lanes[2];
    int refs; /* the test's and one for each end */
};

static void memstream_unref(struct memstream *pair)
{
    if (--pair->refs == 0)
        free(pair);
}

static void lane_drop(struct lane *lane)
{
    while (lane->head) {
        struct chunk *chunk = lane->head;

        lane->head = chunk->next;
        free(chunk->bytes);
        free(chunk);
    }
    lane->tail = &lane->head;
}

static struct stream *lane_receiver(const struct lane *lane)
{
    struct end *end = lane->pair->ends[1 - lane->side];

    return end ? &end->stream : NULL;
}

static struct stream *lane_sender(const struct lane *lane)
{
    struct end *end = lane->pair->ends[lane->side];

    return end ? &end->stream : NULL;
}

static bool is_up(const struct stream *stream)
{
    return stream && !stream->closing;
}

static bool lane_is_open(const struct lane *lane)
{
    const struct stream *to = lane_receiver(lane);

    return is_up(to) && !lane->blocked && (to->reading || to->finishing);
}

static bool lane_must_cut(const struct lane *lane)
{
    return lane->cut_after == 0 && (is_up(lane_sender(lane)) || is_up(lane_receiver(lane)));
}

static void lane_schedule(struct lane *lane)
{
    if (timer_is_running(&lane->tick))
        return;
    if (lane_must_cut(lane) || (lane->head && lane_is_open(lane)))
        timer_start(&lane->tick, 0, 0);
}

static void lane_cut(struct lane *lane)
{
    struct stream *both[2] = {lane_sender(lane), lane_receiver(lane)};
    struct err err;
    int i;

    (void)err_set(&err, ERR_IO, "the connection was cut");
    for (i = 0; i < 2; i++)
        if (both[i])
            stream_fail(both[i], &err);
}

static void lane_pop(struct lane *lane)
{
    struct chunk *chunk = lane->head;

    lane->head = chunk->next;
    if (!lane->head)
        lane->tail = &lane->head;
    free(chunk->bytes);
    free(chunk);
}

/* Hands over bytes of the first chunk: all, or one, or what the cut lets through. */
static void lane_deliver_some(struct lane *lane)
{
    struct stream *from = lane_sender(lane);
    struct chunk *chunk = lane->head;
    size_t n = lane->bytewise ? 1 : chunk->n - chunk->sent;
    char *bytes;

    if (n > lane->cut_after)
        n = lane->cut_after;
    if (lane->cut_after != SIZE_MAX)
        lane->cut_after -= n;
    /* A copy: the callback may close the sender, which drops its chunks. */
    bytes = xmemdup(chunk->bytes + chunk->sent, n);
    chunk->sent += n;
    if (chunk->sent == chunk->n)
        lane_pop(lane);
    stream_data(lane_receiver(lane), view_bytes(bytes, n));
    free(bytes);
    if (is_up(from))
        stream_wrote(from, n);
}

static void lane_deliver(struct lane *lane)
{
    while (!lane_must_cut(lane) && lane_is_open(lane)) {
        if (!lane->head || lane->head->passes_left > 0)
            return;
        if (lane->head->bytes) {
            lane_deliver_some(lane);
        } else {
            lane_pop(lane);
            stream_ended(lane_receiver(lane));
        }
    }
    if (lane_must_cut(lane))
        lane_cut(lane);
}

static void lane_on_tick(struct timer *timer, void *owner)
{
    struct lane *lane = owner;
    struct chunk *chunk;

    (void)timer;
    lane_deliver(lane);
    for (chunk = lane->head; chunk; chunk = chunk->next)
        if (chunk->passes_left > 0)
            chunk->passes_left--;
    lane_schedule(lane);
}

static void lane_add(struct lane *lane, char *bytes, size_t n)
{
    struct chunk *chunk = xcalloc(1, sizeof *chunk);

    chunk->bytes = bytes;
    chunk->n = n;
    chunk->passes_left = lane->delay_passes;
    *lane->tail = chunk;
    lane->tail = &chunk->next;
    lane_schedule(lane);
}

static int end_side(const struct end *end)
{
    return end == end->pair->ends[0] ? 0 : 1;
}

static void end_read(struct stream *stream, bool on)
{
    struct end *end = (struct end *)stream;

    if (on)
        lane_schedule(&end->pair->lanes[1 - end_side(end)]);
}

static void end_write(struct stream *stream, char *bytes, size_t n)
{
    struct end *end = (struct end *)stream;

    lane_add(&end->pair->lanes[end_side(end)], bytes, n);
}

static void end_close(struct stream *stream)
{
    struct end *end = (struct end *)stream;
    struct lane *out = &end->pair->lanes[end_side(end)];
    struct lane *in = &end->pair->lanes[1 - end_side(end)];

    lane_drop(out);
    lane_drop(in);
    timer_stop(&in->tick);
    lane_add(out, NULL, 0);
    timer_start(&end->gone, 0, 0);
}

static void end_on_gone(struct timer *timer, void *owner)
{
    struct end *end = owner;

    (void)timer;
    stream_gone(&end->stream);
}

static void end_free(struct stream *stream)
{
    struct end *end = (struct end *)stream;
    struct memstream *pair = end->pair;
    int side = end_side(end);

    pair->ends[side] = NULL;
    if (!pair->ends[1 - side]) {
        lane_drop(&pair->lanes[0]);
        lane_drop(&pair->lanes[1]);
        timer_stop(&pair->lanes[0].tick);
        timer_stop(&pair->lanes[1].tick);
    }
    free(end);
    memstream_unref(pair);
}

static const struct stream_impl end_impl = {
    .read = end_read,
    .write = end_write,
    .close = end_close,
    .free = end_free,
};

struct memstream *memstream_new(struct loop *loop)
{
    struct memstream *pair = xcalloc(1, sizeof *pair);
    int side;

    pair->refs = 3;
    for (side = 0; side < 2; side++) {
        struct end *end = xcalloc(1, sizeof *end);
        struct lane *lane = &pair->lanes[side];

        stream_init(&end->stream, loop, &end_impl);
        (void)snprintf(end->stream.peer, sizeof end->stream.peer, "memory:%d", 1 - side);
        end->pair = pair;
        timer_init(&end->gone, loop, end_on_gone, end);
        pair->ends[side] = end;
        lane->pair = pair;
        lane->side = side;
        lane->tail = &lane->head;
        lane->cut_after = SIZE_MAX;
        timer_init(&lane->tick, loop, lane_on_tick, lane);
    }
    return pair;
}

struct stream *memstream_end(struct memstream *pair, int side)
{
    return &pair->ends[side]->stream;
}

void memstream_bytewise(struct memstream *pair, int side, bool on)
{
    pair->lanes[side].bytewise = on;
}

void memstream_delay(struct memstream *pair, int side, unsigned passes)
{
    pair->lanes[side].delay_passes = passes;
}

void memstream_block(struct memstream *pair, int side, bool on)
{
    pair->lanes[side].blocked = on;
    lane_schedule(&pair->lanes[side]);
}

void memstream_cut(struct memstream *pair, int side, size_t after_bytes)
{
    pair->lanes[side].cut_after = after_bytes;
    lane_schedule(&pair->lanes[side]);
}

void memstream_free(struct memstream *pair)
{
    memstream_unref(pair);
}
