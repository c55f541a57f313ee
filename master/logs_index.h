/*
 * logs_index: where the blocks of one log file lie, found by walking its headers, and extended as
 * the file grows. Counted references, one thread.
 */
#ifndef TAILRACE_MASTER_LOGS_INDEX_H
#define TAILRACE_MASTER_LOGS_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "master/logs_header.h"

/* 32 bytes a block. A block ends where the next one begins; one entry more than there are blocks
 * says where the last one ends. */
struct log_spot {
    uint64_t file_at; /* of its header */
    uint64_t byte;    /* of its first byte in the log */
    uint64_t line;    /* newlines before it */
    uint32_t crc;     /* of all bytes before it */
};

struct log_index {
    unsigned refs;
    int fd;
    struct log_spot *spots; /* n + 1 */
    size_t n, cap;
    uint64_t known_bytes; /* of the file, looked at so far */
    struct err broken;    /* why the walk ended before known_bytes; ERR_OK: it did not */
};

/* One reference, for the caller. ERR_NOTFOUND: no such file. */
enum err_code log_index_open(const char *path, struct log_index **out,
                             struct err *err) TAILRACE_MUST_CHECK;
void log_index_unref(struct log_index **index);
/* Walks on up to stored_bytes of the file. What it meets wrong there is kept in broken. */
void log_index_extend(struct log_index *index, uint64_t stored_bytes);
/* The number of blocks that end within stored_bytes. */
size_t log_index_blocks(const struct log_index *index, uint64_t stored_bytes);

#endif
