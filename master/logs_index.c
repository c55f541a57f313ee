#include "master/logs_index.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/base/mem.h"
#include "common/base/vec.h"

/* Headers of small blocks lie close together, so several are read at once. */
enum { WINDOW_BYTES = 4096 };

struct window {
    uint64_t at;
    size_t n;
    uint8_t bytes[WINDOW_BYTES];
};

enum err_code log_index_open(const char *path, struct log_index **out, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct log_index *index;

    if (fd < 0 && errno == ENOENT)
        return err_set(err, ERR_NOTFOUND, "there is no file %s", path);
    if (fd < 0)
        return err_set_sys(err, errno, "open %s", path);
    index = xcalloc(1, sizeof *index);
    index->refs = 1;
    index->fd = fd;
    index->cap = 8;
    index->spots = xcalloc(index->cap, sizeof *index->spots);
    *out = index;
    return ERR_OK;
}

void log_index_unref(struct log_index **index)
{
    if (*index && --(*index)->refs == 0) {
        (void)close((*index)->fd);
        free((*index)->spots);
        free(*index);
    }
    *index = NULL;
}

/* The header at that place, from the window or read anew; NULL with *err set when the file ends
 * before it does. */
static const uint8_t *window_look(struct window *window, int fd, uint64_t at, struct err *err)
{
    ssize_t n;

    if (at >= window->at && at + LOGS_HEADER_BYTES <= window->at + window->n)
        return window->bytes + (at - window->at);
    do {
        n = pread(fd, window->bytes, sizeof window->bytes, (off_t)at);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        (void)err_set_sys(err, errno, "read a log");
        return NULL;
    }
    window->at = at;
    window->n = (size_t)n;
    if (n < LOGS_HEADER_BYTES) {
        (void)err_set(err, ERR_IO, "the file ends there");
        return NULL;
    }
    return window->bytes;
}

/* crc32_combine() prepares for a length before it combines; most blocks are of one length. */
struct combiner {
    uint32_t size;
    z_crc_t op;
};

static uint32_t combine(struct combiner *combiner, uint32_t crc, const struct log_header *next)
{
    if (combiner->size != next->size) {
        combiner->size = next->size;
        combiner->op = (z_crc_t)crc32_combine_gen(next->size);
    }
    return (uint32_t)crc32_combine_op(crc, next->crc, combiner->op);
}

static enum err_code check_place(const struct log_spot *here, const struct log_header *header,
                                 uint64_t stored_bytes, struct err *err)
{
    if (header->offset != here->byte || header->lines_before != here->line)
        return err_set(err, ERR_IO, "the block there is not the one that follows");
    if (header->data_bytes > stored_bytes - here->file_at - LOGS_HEADER_BYTES)
        return err_set(err, ERR_IO, "the block there is longer than the file");
    return ERR_OK;
}

static void index_add(struct log_index *index, struct combiner *combiner,
                      const struct log_header *header)
{
    struct log_spot last = index->spots[index->n];

    index->n++;
    index->spots = vec_reserve(index->spots, &index->cap, index->n + 1, sizeof *index->spots);
    index->spots[index->n] = (struct log_spot){
        .file_at = last.file_at + LOGS_HEADER_BYTES + header->data_bytes,
        .byte = last.byte + header->size,
        .line = last.line + header->lines,
        .crc = combine(combiner, last.crc, header),
    };
}

void log_index_extend(struct log_index *index, uint64_t stored_bytes)
{
    struct window window = {.n = 0};
    struct combiner combiner = {0, 0};
    struct log_header header = {0};
    struct err *broken = &index->broken;
    const uint8_t *bytes;

    if (broken->code != ERR_OK && stored_bytes <= index->known_bytes)
        return;
    err_clear(broken);
    while (index->spots[index->n].file_at < stored_bytes) {
        const struct log_spot *here = &index->spots[index->n];

        if (stored_bytes - here->file_at < LOGS_HEADER_BYTES)
            (void)err_set(broken, ERR_IO, "the file ends in a header");
        else if ((bytes = window_look(&window, index->fd, here->file_at, broken)) != NULL &&
                 log_header_unpack(bytes, &header, broken) == ERR_OK &&
                 check_place(here, &header, stored_bytes, broken) == ERR_OK) {
            index_add(index, &combiner, &header);
            continue;
        }
        err_prefix(broken, "the log is damaged at byte %llu (%llu of its file)",
                   (unsigned long long)here->byte, (unsigned long long)here->file_at);
        broken->code = ERR_IO;
        break;
    }
    if (stored_bytes > index->known_bytes)
        index->known_bytes = stored_bytes;
}

size_t log_index_blocks(const struct log_index *index, uint64_t stored_bytes)
{
    size_t low = 0, high = index->n;

    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (index->spots[middle].file_at <= stored_bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
