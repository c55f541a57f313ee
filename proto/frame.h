/*
 * frame: a 4-byte big-endian length and so many bytes. Pure: bytes in, frames out.
 */
#ifndef TAILRACE_PROTO_FRAME_H
#define TAILRACE_PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"

enum {
    FRAME_HEADER_BYTES = 4,
    FRAME_MAX_BYTES = 1 << 20,             /* after the handshake */
    FRAME_MAX_HANDSHAKE_BYTES = 64 * 1024, /* before it: a stranger costs no more than this */
};

/* Collects frames from pieces of any size. Holds memory only while a frame is incomplete. */
struct frame_reader {
    struct str partial;
    bool given;       /* partial is whole and was handed out: it goes at the next call */
    size_t max_bytes; /* of one frame's body; may be changed between frames */
};

void frame_reader_init(struct frame_reader *reader, size_t max_bytes);
void frame_reader_release(struct frame_reader *reader);

/* Takes the next frame out of *bytes (moving its start) and gives its body in *body, good until the
 * next call or the end of *bytes' memory. ERR_AGAIN when more bytes are needed (all of *bytes is
 * taken then). ERR_PROTO for a length of 0 or over the maximum, before anything is allocated for
 * it. */
enum err_code frame_next(struct frame_reader *reader, struct view *bytes, struct view *body,
                         struct err *err) TAILRACE_MUST_CHECK;

/* Appends room for a header and gives its position; frame_end() fills it in once the body stands
 * behind it. ERR_LIMIT when *out is too full for it. */
enum err_code frame_begin(struct str *out, size_t *begin, struct err *err) TAILRACE_MUST_CHECK;
void frame_end(struct str *out, size_t begin);
/* The length of the first frame in bytes, header included; bytes holds at least its header. */
size_t frame_bytes(struct view bytes);

#endif
