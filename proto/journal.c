#include "proto/journal.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

static void put_le(uint8_t *p, uint64_t value, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_le(const char *p, int n)
{
    uint64_t value = 0;

    for (int i = 0; i < n; i++)
        value |= (uint64_t)(unsigned char)p[i] << (8 * i);
    return value;
}

/* The number as it lies in the header is part of the sum: a record cannot take another's place. */
static uint32_t checksum(const void *number, struct view body)
{
    uLong crc = crc32(0, number, 8);

    return (uint32_t)crc32(crc, (const Bytef *)body.p, (uInt)body.n);
}

void journal_header(uint64_t number, struct view body, uint8_t header[JOURNAL_HEADER_BYTES])
{
    assert(body.n > 0 && body.n <= JOURNAL_BODY_MAX);
    put_le(header, body.n, 4);
    put_le(header + 8, number, 8);
    put_le(header + 4, checksum(header + 8, body), 4);
}

enum err_code journal_next(struct view *bytes, struct journal_entry *entry, struct err *err)
{
    struct view body;
    uint64_t number;
    size_t length;

    if (bytes->n < JOURNAL_HEADER_BYTES)
        return ERR_AGAIN;
    length = (size_t)get_le(bytes->p, 4);
    number = get_le(bytes->p + 8, 8);
    if (length == 0 || length > JOURNAL_BODY_MAX)
        return err_set(err, ERR_PROTO, "a journal record of %zu bytes, 1 to %d", length,
                       JOURNAL_BODY_MAX);
    if (bytes->n - JOURNAL_HEADER_BYTES < length)
        return ERR_AGAIN;
    body = view_bytes(bytes->p + JOURNAL_HEADER_BYTES, length);
    if (checksum(bytes->p + 8, body) != get_le(bytes->p + 4, 4))
        return err_set(err, ERR_PROTO, "journal record %" PRIu64 ": its checksum is wrong", number);
    *entry = (struct journal_entry){number, body};
    bytes->p += JOURNAL_HEADER_BYTES + length;
    bytes->n -= JOURNAL_HEADER_BYTES + length;
    return ERR_OK;
}
