/* A whole log as one gzip member, without inflating: header, the blocks as they are, an empty last
 * block, checksum and size. */
#include <string.h>

#include "master/logs_view.h"

/* Deflate, no flags, no time, unknown system. */
static const uint8_t gzip_head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
enum { GZIP_TAIL_BYTES = 10 };

/* Where the data of a block begins in the member: the headers of ours before it are left out. */
static uint64_t gzip_at(const struct log_view *view, size_t block)
{
    return sizeof gzip_head + view->index->spots[block].file_at -
           (uint64_t)block * LOGS_HEADER_BYTES;
}

uint64_t log_view_gzip_bytes(const struct log_view *view)
{
    return gzip_at(view, view->n) + GZIP_TAIL_BYTES;
}

static void gzip_tail(const struct log_view *view, uint8_t out[GZIP_TAIL_BYTES])
{
    uint32_t crc = log_view_end(view)->crc;
    uint32_t size = (uint32_t)log_view_end(view)->byte;

    out[0] = 3;
    out[1] = 0;
    for (int i = 0; i < 4; i++) {
        out[2 + i] = (uint8_t)(crc >> (8 * i));
        out[6 + i] = (uint8_t)(size >> (8 * i));
    }
}

static size_t block_of_gzip(const struct log_view *view, uint64_t offset)
{
    size_t low = 0, high = view->n - 1;

    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (gzip_at(view, middle) <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static size_t take(char *out, size_t room, const void *from, size_t n, uint64_t skip)
{
    n -= (size_t)skip;
    if (n > room)
        n = room;
    memcpy(out, (const char *)from + skip, n);
    return n;
}

static enum err_code read_blocks(const struct log_view *view, uint64_t offset, char *out, size_t n,
                                 size_t *got, struct err *err)
{
    size_t block = block_of_gzip(view, offset);
    size_t done = 0;

    for (; done < n && block < view->n; block++) {
        uint64_t skip = offset - gzip_at(view, block);
        size_t left = (size_t)(gzip_at(view, block + 1) - offset);
        enum err_code rc;

        if (left > n - done)
            left = n - done;
        rc = log_view_pread(view, out + done, left,
                            view->index->spots[block].file_at + LOGS_HEADER_BYTES + skip, err);
        if (rc)
            return rc;
        done += left;
        offset += left;
    }
    *got = done;
    return ERR_OK;
}

enum err_code log_view_gzip_read(struct log_view *view, uint64_t offset, char *out, size_t n,
                                 size_t *got, struct err *err)
{
    uint64_t tail_at = gzip_at(view, view->n);
    uint8_t tail[GZIP_TAIL_BYTES];
    size_t done = 0, part = 0;
    enum err_code rc;

    if (offset < sizeof gzip_head)
        done = take(out, n, gzip_head, sizeof gzip_head, offset);
    if (done < n && offset + done >= sizeof gzip_head && offset + done < tail_at) {
        rc = read_blocks(view, offset + done, out + done, n - done, &part, err);
        if (rc)
            return rc;
        done += part;
    }
    if (done < n && offset + done >= tail_at && offset + done < tail_at + GZIP_TAIL_BYTES) {
        /* Without its tail the member is seen to be incomplete. */
        if (view->broken.code != ERR_OK && done == 0)
            return log_view_fail(view, err);
        if (view->broken.code == ERR_OK) {
            gzip_tail(view, tail);
            done += take(out + done, n - done, tail, sizeof tail, offset + done - tail_at);
        }
    }
    *got = done;
    return ERR_OK;
}
