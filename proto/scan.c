#include "proto/scan.h"

#include <stdint.h>

struct scanner {
    const unsigned char *p;
    size_t n, at;
    size_t objects;
    unsigned depth;
    size_t left[SCAN_MAX_DEPTH]; /* elements that each open array still lacks */
};

/* What the first byte of a value says: bytes of the number behind it, and whether that number
 * counts bytes or elements. */
enum form { FORM_PLAIN, FORM_BYTES, FORM_ARRAY, FORM_REFUSED };

struct lead {
    enum form form;
    uint8_t width; /* of the number; for FORM_PLAIN all that belongs to the value */
    uint8_t count; /* when width is 0 */
};

/* Bytes 0xc0 to 0xdf; the others carry their meaning in a few bits. */
static const struct lead leads[32] = {
    {FORM_PLAIN, 0, 0},   {FORM_REFUSED, 0, 0}, {FORM_PLAIN, 0, 0},   {FORM_PLAIN, 0, 0},
    {FORM_BYTES, 1, 0},   {FORM_BYTES, 2, 0},   {FORM_BYTES, 4, 0},   {FORM_REFUSED, 0, 0},
    {FORM_REFUSED, 0, 0}, {FORM_REFUSED, 0, 0}, {FORM_PLAIN, 4, 0},   {FORM_PLAIN, 8, 0},
    {FORM_PLAIN, 1, 0},   {FORM_PLAIN, 2, 0},   {FORM_PLAIN, 4, 0},   {FORM_PLAIN, 8, 0},
    {FORM_PLAIN, 1, 0},   {FORM_PLAIN, 2, 0},   {FORM_PLAIN, 4, 0},   {FORM_PLAIN, 8, 0},
    {FORM_REFUSED, 0, 0}, {FORM_REFUSED, 0, 0}, {FORM_REFUSED, 0, 0}, {FORM_REFUSED, 0, 0},
    {FORM_REFUSED, 0, 0}, {FORM_BYTES, 1, 0},   {FORM_BYTES, 2, 0},   {FORM_BYTES, 4, 0},
    {FORM_ARRAY, 2, 0},   {FORM_ARRAY, 4, 0},   {FORM_REFUSED, 0, 0}, {FORM_REFUSED, 0, 0},
};

static struct lead lead_of(unsigned char byte)
{
    if (byte < 0x80 || byte >= 0xe0)
        return (struct lead){FORM_PLAIN, 0, 0};
    if (byte < 0x90)
        return (struct lead){FORM_REFUSED, 0, 0};
    if (byte < 0xa0)
        return (struct lead){FORM_ARRAY, 0, byte & 0x0f};
    if (byte < 0xc0)
        return (struct lead){FORM_BYTES, 0, byte & 0x1f};
    return leads[byte - 0xc0];
}

static enum err_code ends_early(const struct scanner *s, size_t at, struct err *err)
{
    return err_set(err, ERR_PROTO, "offset %zu: the value does not end within its %zu bytes", at,
                   s->n);
}

/* An array begins: each element takes at least a byte, so more elements than bytes is a lie. */
static enum err_code open_array(struct scanner *s, size_t at, size_t count, struct err *err)
{
    if (count > s->n - s->at)
        return err_set(err, ERR_PROTO, "offset %zu: an array of %zu elements in %zu bytes", at,
                       count, s->n - s->at);
    if (s->depth == SCAN_MAX_DEPTH)
        return err_set(err, ERR_PROTO, "offset %zu: deeper than %d arrays", at, SCAN_MAX_DEPTH);
    s->left[s->depth++] = count;
    return ERR_OK;
}

static enum err_code scan_one(struct scanner *s, struct err *err)
{
    size_t at = s->at;
    struct lead lead = lead_of(s->p[s->at++]);
    size_t count = lead.count;

    if (lead.form == FORM_REFUSED)
        return err_set(err, ERR_PROTO, "offset %zu: byte 0x%02x begins nothing that is allowed", at,
                       s->p[at]);
    if (++s->objects > SCAN_MAX_OBJECTS)
        return err_set(err, ERR_PROTO, "offset %zu: more than %d values", at, SCAN_MAX_OBJECTS);
    if (lead.width > s->n - s->at)
        return ends_early(s, at, err);
    if (lead.form != FORM_PLAIN) {
        for (unsigned i = 0; i < lead.width; i++)
            count = count << 8 | s->p[s->at + i];
    }
    s->at += lead.width;
    if (lead.form == FORM_ARRAY)
        return open_array(s, at, count, err);
    if (count > s->n - s->at)
        return ends_early(s, at, err);
    s->at += count;
    return ERR_OK;
}

/* Whether another value belongs to the outermost one; closes the arrays that are complete. */
static bool wants_more(struct scanner *s)
{
    while (s->depth > 0 && s->left[s->depth - 1] == 0)
        s->depth--;
    if (s->depth == 0)
        return false;
    s->left[s->depth - 1]--;
    return true;
}

enum err_code scan_value(struct view bytes, struct err *err)
{
    struct scanner s = {.p = (const unsigned char *)bytes.p, .n = bytes.n};

    do {
        enum err_code rc;

        if (s.at == s.n)
            return ends_early(&s, s.at, err);
        rc = scan_one(&s, err);
        if (rc)
            return rc;
    } while (wants_more(&s));
    if (s.at != s.n)
        return err_set(err, ERR_PROTO, "offset %zu: %zu bytes behind the value's end", s.at,
                       s.n - s.at);
    return ERR_OK;
}
