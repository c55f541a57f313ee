/*
 * Bytes cut into pieces must give the same frames as the same bytes in one piece. The first byte of
 * the input says how long the pieces are.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/mem.h"
#include "proto/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    size_t frames;
    unsigned long sum; /* of all lengths and bodies */
    enum err_code rc;
};

static void add_frame(struct outcome *outcome, struct view body)
{
    outcome->frames++;
    outcome->sum = crc32(outcome->sum, (const Bytef *)&body.n, sizeof body.n);
    outcome->sum = crc32(outcome->sum, (const Bytef *)body.p, (uInt)body.n);
}

static struct outcome run(struct view all, size_t piece)
{
    struct outcome outcome = {0, 0, ERR_AGAIN};
    struct frame_reader reader;

    frame_reader_init(&reader, 4096);
    for (size_t at = 0; at < all.n && outcome.rc == ERR_AGAIN; at += piece) {
        size_t n = all.n - at < piece ? all.n - at : piece;
        char *copy = xmemdup(all.p + at, n);
        struct view bytes = view_bytes(copy, n);
        struct view body;

        while ((outcome.rc = frame_next(&reader, &bytes, &body, NULL)) == ERR_OK)
            add_frame(&outcome, body);
        if (outcome.rc == ERR_AGAIN && bytes.n != 0)
            abort();
        free(copy);
    }
    frame_reader_release(&reader);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct outcome whole, pieces;
    struct view all;

    if (size < 2)
        return 0;
    all = view_bytes(data + 1, size - 1);
    whole = run(all, all.n);
    pieces = run(all, data[0] + 1U);
    if (whole.frames != pieces.frames || whole.sum != pieces.sum || whole.rc != pieces.rc)
        abort();
    return 0;
}
