#include "proto/frame.h"

#include <assert.h>
#include <string.h>

static size_t length_at(const char *p)
{
    const unsigned char *b = (const unsigned char *)p;

    return (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
}

void frame_reader_init(struct frame_reader *reader, size_t max_bytes)
{
    memset(reader, 0, sizeof *reader);
    reader->max_bytes = max_bytes;
}

void frame_reader_release(struct frame_reader *reader)
{
    str_release(&reader->partial);
    reader->given = false;
}

static enum err_code check_length(const struct frame_reader *reader, size_t length, struct err *err)
{
    if (length == 0)
        return err_set(err, ERR_PROTO, "a frame of length 0");
    if (length > reader->max_bytes)
        return err_set(err, ERR_PROTO, "a frame of %zu bytes, at most %zu", length,
                       reader->max_bytes);
    return ERR_OK;
}

/* Moves bytes to partial until that has `want` of them; false when there are not enough. */
static bool collect(struct frame_reader *reader, struct view *bytes, size_t want)
{
    size_t n = want - reader->partial.n;

    if (n > bytes->n)
        n = bytes->n;
    str_put_view(&reader->partial, view_bytes(bytes->p, n));
    bytes->p += n;
    bytes->n -= n;
    return reader->partial.n == want;
}

/* A frame of which a piece is here already, or that does not end within *bytes. */
static enum err_code next_in_pieces(struct frame_reader *reader, struct view *bytes,
                                    struct view *body, struct err *err)
{
    enum err_code rc;
    size_t length;

    reader->partial.max = FRAME_HEADER_BYTES + reader->max_bytes;
    if (reader->partial.n < FRAME_HEADER_BYTES && !collect(reader, bytes, FRAME_HEADER_BYTES))
        return ERR_AGAIN;
    length = length_at(reader->partial.p);
    rc = check_length(reader, length, err);
    if (rc)
        return rc;
    /* The memory grows with what came, not with what the header promises. */
    if (!collect(reader, bytes, FRAME_HEADER_BYTES + length))
        return ERR_AGAIN;
    reader->given = true;
    *body = view_bytes(reader->partial.p + FRAME_HEADER_BYTES, length);
    return ERR_OK;
}

enum err_code frame_next(struct frame_reader *reader, struct view *bytes, struct view *body,
                         struct err *err)
{
    enum err_code rc;
    size_t length;

    if (reader->given)
        frame_reader_release(reader);
    if (bytes->n == 0)
        return ERR_AGAIN;
    if (reader->partial.n > 0 || bytes->n < FRAME_HEADER_BYTES)
        return next_in_pieces(reader, bytes, body, err);
    length = length_at(bytes->p);
    rc = check_length(reader, length, err);
    if (rc)
        return rc;
    if (bytes->n - FRAME_HEADER_BYTES < length)
        return next_in_pieces(reader, bytes, body, err);
    *body = view_bytes(bytes->p + FRAME_HEADER_BYTES, length);
    bytes->p += FRAME_HEADER_BYTES + length;
    bytes->n -= FRAME_HEADER_BYTES + length;
    return ERR_OK;
}

enum err_code frame_begin(struct str *out, size_t *begin, struct err *err)
{
    static const char room[FRAME_HEADER_BYTES];
    size_t before = out->n;
    enum err_code rc = str_append(out, room, sizeof room, err);

    if (rc)
        return rc;
    *begin = before;
    return ERR_OK;
}

void frame_end(struct str *out, size_t begin)
{
    size_t length = out->n - begin - FRAME_HEADER_BYTES;

    assert(length > 0 && length <= FRAME_MAX_BYTES);
    for (int i = 0; i < FRAME_HEADER_BYTES; i++)
        out->p[begin + (size_t)i] = (char)(unsigned char)(length >> (8 * (3 - i)));
}

size_t frame_bytes(struct view bytes)
{
    assert(bytes.n >= FRAME_HEADER_BYTES);
    return FRAME_HEADER_BYTES + length_at(bytes.p);
}
