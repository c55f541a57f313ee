/*
 * Log blocks as a slave cuts them, for tests: one raw deflate stream, a full flush behind each
 * block. And a folder to keep them in.
 */
#ifndef TAILRACE_TESTS_LOG_BLOCKS_H
#define TAILRACE_TESTS_LOG_BLOCKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "master/logs.h"

static inline void quiet_sink(void *arg, enum log_level level, struct view line)
{
    (void)arg;
    (void)level;
    (void)line;
}

/* A new empty folder; the caller frees the name, after folder_remove(). */
static inline char *folder_new(void)
{
    char *path = xasprintf("%s/tailrace-test-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");

    assert_non_null(mkdtemp(path));
    return path;
}

static inline void folder_remove(char *path)
{
    assert_int_equal(fs_remove_tree(path, NULL), ERR_OK);
    free(path);
}

struct cutter {
    z_stream z;
    uint64_t offset;
    char data[LOGS_DATA_MAX * 2];
};

static inline struct cutter *cutter_new(void)
{
    struct cutter *cutter = xcalloc(1, sizeof *cutter);

    assert_int_equal(deflateInit2(&cutter->z, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    return cutter;
}

static inline void cutter_free(struct cutter *cutter)
{
    (void)deflateEnd(&cutter->z);
    free(cutter);
}

/* The next block; its data is good until the next call. */
static inline struct msg_log_block cutter_cut(struct cutter *cutter, const char *bytes, size_t n)
{
    struct msg_log_block block = {
        .step = 1,
        .offset = cutter->offset,
        .size = (uint32_t)n,
        .crc = (uint32_t)crc32(0, (const Bytef *)bytes, (uInt)n),
        .time_ms = 1700000000000,
    };

    for (size_t i = 0; i < n; i++)
        block.lines += bytes[i] == '\n';
    cutter->z.next_in = (Bytef *)(uintptr_t)bytes;
    cutter->z.avail_in = (uInt)n;
    cutter->z.next_out = (Bytef *)cutter->data;
    cutter->z.avail_out = sizeof cutter->data;
    assert_int_equal(deflate(&cutter->z, Z_FULL_FLUSH), Z_OK);
    assert_int_equal(cutter->z.avail_in, 0);
    block.data = view_bytes(cutter->data, sizeof cutter->data - cutter->z.avail_out);
    cutter->offset += n;
    return block;
}

#endif
