/*
 * blocks: cuts a step's output into deflate blocks (DESIGN section 7): 64 KiB, or what came within 100 ms of the first byte. One raw deflate stream
 * (level 1) for a log; each block ends in a full flush, so it can be inflated alone and all of them set end to end are one stream.
 * Pure but for the timer: bytes in, finished LOG_BLOCK records out.
 */
#ifndef TAILRACE_SLAVE_BLOCKS_H
#define TAILRACE_SLAVE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"
#include "common/io/loop.h"
#include "proto/msg.h"

enum { BLOCKS_CUT_BYTES = 64 * 1024, BLOCKS_CUT_MS = 100 };

struct blocks;

/* emit gets a LOG_BLOCK record, good during the call; false means that it could not be taken (no room): the block is kept and offered
 * again by blocks_retry(). */
struct blocks *blocks_new(struct loop *loop, uint32_t step, uint32_t stream, uint64_t limit_bytes,
                          bool (*emit)(void *owner, const struct msg *block), void *owner);
void blocks_free(struct blocks *blocks);
/* Adds output. Returns false when the source should be held back (a block could not be taken); all bytes are kept in any case. Past
 * limit_bytes bytes are counted, not stored; the tail of the last 64 KiB is kept and, with a line that says how many bytes are missing, ends the log. */
bool blocks_add(struct blocks *blocks, struct view bytes);
/* A line of ours in the log (own line, newline added); not counted against the limit. */
void blocks_note(struct blocks *blocks, const char *text);
/* Offers what was refused. True when nothing is held any more. */
bool blocks_retry(struct blocks *blocks);
/* Emits what is left, marker included. Idempotent; false: refused for now, call again after blocks_retry(). */
bool blocks_finish(struct blocks *blocks);
uint64_t blocks_total(const struct blocks *blocks); /* bytes that came in */

#endif
