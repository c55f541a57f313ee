#include "common/io/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void stream_on_grace(struct timer *timer, void *owner)
{
    (void)timer;
    stream_close(owner, NULL);
}

void stream_init(struct stream *stream, struct loop *loop, const struct stream_impl *impl)
{
    memset(stream, 0, sizeof *stream);
    stream->impl = impl;
    stream->loop = loop;
    stream->hard_bytes = STREAM_HARD_BYTES;
    timer_init(&stream->grace, loop, stream_on_grace, stream);
}

void stream_own(struct stream *stream, const struct stream_ops *ops, void *owner)
{
    stream->ops = ops;
    stream->owner = owner;
}

void stream_read(struct stream *stream, bool on)
{
    if (stream->closing || stream->finishing || stream->reading == on)
        return;
    stream->reading = on;
    stream->impl->read(stream, on);
}

void stream_write(struct stream *stream, char *bytes, size_t n)
{
    struct err err;

    if (stream->closing || stream->finishing || n == 0) {
        free(bytes);
        return;
    }
    if (stream->pending + n > stream->hard_bytes) {
        (void)err_set(&err, ERR_LIMIT, "%zu bytes wait for the other side, which does not read",
                      stream->pending);
        free(bytes);
        stream_close(stream, &err);
        return;
    }
    stream->pending += n;
    stream->impl->write(stream, bytes, n);
    /* After the write: what the system took at once never counts. */
    if (stream->pending > STREAM_HIGH_BYTES)
        stream->over_high = true;
}

size_t stream_pending(const struct stream *stream)
{
    return stream->pending;
}

bool stream_is_full(const struct stream *stream)
{
    return stream->over_high;
}

static void stream_keep_reason(struct stream *stream, const struct err *why)
{
    if (why)
        stream->why = *why;
    else
        (void)err_set(&stream->why, ERR_OK, "closed by this side");
}

void stream_close(struct stream *stream, const struct err *why)
{
    if (stream->closing)
        return;
    if (!stream->finishing)
        stream_keep_reason(stream, why);
    stream->closing = true;
    timer_stop(&stream->grace);
    stream->impl->close(stream);
}

static void stream_end(struct stream *stream)
{
    if (stream->impl->end)
        stream->impl->end(stream);
    else
        stream_close(stream, NULL);
}

void stream_finish(struct stream *stream, const struct err *why, unsigned grace_ms)
{
    if (stream->closing || stream->finishing)
        return;
    stream_read(stream, false);
    stream_keep_reason(stream, why);
    stream->finishing = true;
    timer_start(&stream->grace, grace_ms, 0);
    if (stream->pending == 0)
        stream_end(stream);
}

void stream_data(struct stream *stream, struct view bytes)
{
    if (!stream->closing && !stream->finishing && stream->ops)
        stream->ops->on_data(stream->owner, bytes);
}

void stream_wrote(struct stream *stream, size_t n)
{
    assert(n <= stream->pending);
    stream->pending -= n;
    if (stream->closing)
        return;
    if (stream->finishing) {
        if (stream->pending == 0)
            stream_end(stream);
        return;
    }
    if (!stream->over_high || stream->pending > STREAM_LOW_BYTES)
        return;
    stream->over_high = false;
    if (stream->ops && stream->ops->on_drain)
        stream->ops->on_drain(stream->owner);
}

void stream_fail(struct stream *stream, const struct err *why)
{
    stream_close(stream, why);
}

void stream_ended(struct stream *stream)
{
    struct err err;

    (void)err_set(&err, ERR_IO, "the other side closed the connection");
    stream_close(stream, &err);
}

void stream_gone(struct stream *stream)
{
    if (stream->ops && stream->ops->on_closed)
        stream->ops->on_closed(stream->owner, &stream->why);
    stream->impl->free(stream);
}
