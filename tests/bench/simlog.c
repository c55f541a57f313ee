#include "tests/bench/simlog.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/mem.h"
#include "tests/bench/logtext.h"

static uint32_t count_lines(const char *p, size_t n)
{
    uint32_t lines = 0;

    for (size_t i = 0; i < n; i++)
        lines += p[i] == '\n';
    return lines;
}

static void block_make(struct simlog_block *block, struct logtext *text, uint32_t size)
{
    char *plain = xmalloc(size);
    z_stream z = {0};
    int rc = deflateInit2(&z, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    size_t room = (size_t)size + size / 2 + 64;

    assert(rc == Z_OK);
    logtext_fill(text, plain, size);
    *block = (struct simlog_block){.data = xmalloc(room), .size = size};
    block->lines = count_lines(plain, size);
    block->crc = (uint32_t)crc32(0, (const Bytef *)plain, size);
    z.next_in = (Bytef *)plain;
    z.avail_in = size;
    z.next_out = (Bytef *)block->data;
    z.avail_out = (uInt)room;
    rc = deflate(&z, Z_FULL_FLUSH);
    assert(rc == Z_OK && z.avail_in == 0 && z.avail_out > 0);
    block->n = room - z.avail_out;
    (void)deflateEnd(&z);
    free(plain);
}

void simlog_init(struct simlog *log, uint64_t bytes)
{
    uint64_t whole = bytes / SIMLOG_BLOCK_BYTES;
    uint32_t rest = (uint32_t)(bytes % SIMLOG_BLOCK_BYTES);
    struct logtext text;

    memset(log, 0, sizeof *log);
    log->bytes = bytes;
    log->n_blocks = whole + (rest > 0);
    logtext_init(&text, 7);
    for (uint64_t i = 0; i < whole && i < SIMLOG_KEPT; i++)
        block_make(&log->whole[i], &text, SIMLOG_BLOCK_BYTES);
    if (rest > 0)
        block_make(&log->last, &text, rest);
}

void simlog_release(struct simlog *log)
{
    for (size_t i = 0; i < SIMLOG_KEPT; i++)
        free(log->whole[i].data);
    free(log->last.data);
}

void simlog_block(const struct simlog *log, uint64_t index, struct msg_log_block *out)
{
    uint64_t offset = index * SIMLOG_BLOCK_BYTES;
    const struct simlog_block *block =
        log->bytes - offset < SIMLOG_BLOCK_BYTES ? &log->last : &log->whole[index % SIMLOG_KEPT];

    assert(index < log->n_blocks);
    *out = (struct msg_log_block){
        .step = 1,
        .offset = offset,
        .size = block->size,
        .lines = block->lines,
        .crc = block->crc,
        .data = view_bytes(block->data, block->n),
    };
}
