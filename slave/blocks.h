/*
 * blocks: cuts a step's output into deflate blocks (DESIGN section 7): 64 KiB, or what came within
 * 100 ms of the first byte. One raw deflate stream (level 1) for a log; each block ends in a full
 * flush, so it can be inflated alone and all of them set end to end are one stream. Pure but for
 * the timer: bytes in, finished LOG_BLOCK records out.
 *
 * Output is compressed as it comes and copied nowhere else. What a log takes (350 KiB) is allocated
 * by its first byte.
 */
#ifndef TAILRACE_SLAVE_BLOCKS_H
#define TAILRACE_SLAVE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"
#include "common/io/loop.h"
#include "proto/msg.h"

enum {
    BLOCKS_CUT_BYTES = 64 * 1024,
    BLOCKS_CUT_MS = 100,
    BLOCKS_DATA_BYTES = 96 * 1024, /* most that a block can take when it does not compress */
    BLOCKS_TAIL_BYTES = 64 * 1024,
};

struct blocks;

/* emit gets a LOG_BLOCK record, good during the call; false means that it could not be taken (no
 * room): the block is kept and offered again by blocks_retry(). It is called from blocks_add,
 * _note, _cut, _retry and _finish, and from the loop; it may not call back in. limit_bytes 0: no
 * limit. */
struct blocks *blocks_new(struct loop *loop, uint32_t step, uint32_t stream, uint64_t limit_bytes,
                          bool (*emit)(void *owner, const struct msg *block), void *owner);
void blocks_free(struct blocks *blocks); /* NULL allowed */
/* Adds output. Returns false when the source should be held back (a block could not be taken); all
 * bytes are kept in any case. Of a log over its limit the first bytes are kept and the last 64 KiB
 * (half of a limit under 128 KiB), in between a line that says how many are missing; one at the
 * moment it happens says that it does. A log within its limit is exact. */
bool blocks_add(struct blocks *blocks, struct view bytes);
/* A line of ours in the log (own line, newline added); not counted against the limit. */
void blocks_note(struct blocks *blocks, const char *text);
/* Ends the block being filled now, not only after 100 ms. */
void blocks_cut(struct blocks *blocks);
/* Offers what was refused. True when nothing is held any more. */
bool blocks_retry(struct blocks *blocks);
/* Emits what is left, marker included. Nothing may be added afterwards. Idempotent; false: refused
 * for now, call again when there is room. */
bool blocks_finish(struct blocks *blocks);
uint64_t blocks_total(const struct blocks *blocks); /* bytes that came in */

#endif
