/*
 * memstream: two streams on one loop that are each other's peer, in memory. What one end writes
 * comes to the other from the loop, and counts as pending until then; a stream that does not read
 * gets nothing. No handle of libuv is used, and a fake clock works.
 *
 * Each direction misbehaves as the test says. `side` (0 or 1) is always the end that sends.
 *
 *     struct memstream *pair = memstream_new(&loop);
 *     stream_own(memstream_end(pair, 0), &ops, me);
 *     memstream_bytewise(pair, 0, true);
 *
 * The ends are freed as all streams are, by stream_close(); closing one is the end of input for the
 * other, once all that was delivered before is read. memstream_free() may come before or after
 * that.
 */
#ifndef TAILRACE_TESTS_SUPPORT_MEMSTREAM_H
#define TAILRACE_TESTS_SUPPORT_MEMSTREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "common/io/stream.h"

struct memstream;

struct memstream *memstream_new(struct loop *loop);
/* Good until that end's on_closed. */
struct stream *memstream_end(struct memstream *pair, int side);
/* One byte in each on_data. */
void memstream_bytewise(struct memstream *pair, int side, bool on);
/* What is written (or the end of input) from now on comes `passes` passes of the loop later than it
 * would. */
void memstream_delay(struct memstream *pair, int side, unsigned passes);
/* Nothing comes through, not even the end of input, until unblocked; then all of it does. */
void memstream_block(struct memstream *pair, int side, bool on);
/* After that many more delivered bytes both ends fail, as if the cable had been cut. */
void memstream_cut(struct memstream *pair, int side, size_t after_bytes);
/* Lets go of the pair; the ends live until they are closed. */
void memstream_free(struct memstream *pair);

#endif
