#include "slave/blocks.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/io/timer.h"

enum { HELD_MAX = 1 << 30, NOTES_MAX = 1 << 20 };

/* The block being filled, or, while it is refused, the one that waits to be taken. */
struct block {
    uint32_t size, lines, crc;
    int64_t time_ms; /* of its first byte */
};

/* The newest bytes of a log that has passed its first part; a ring once it is full. */
struct tail {
    char *bytes;
    size_t cap, n, begin;
};

struct blocks {
    struct loop *loop;
    uint32_t step, stream;
    uint64_t limit_bytes;
    uint64_t first_bytes; /* so many are stored as they come, the rest goes through the tail */
    bool (*emit)(void *owner, const struct msg *block);
    void *owner;

    struct timer cut_timer;
    z_stream deflate;
    unsigned char *data; /* BLOCKS_DATA_BYTES; NULL before the first byte */
    struct block block;
    bool refused;
    struct str held; /* came in while refused */

    uint64_t offset; /* of the block in the log */
    uint64_t total;
    bool in_line; /* the newest byte for the log is not a line's end */
    bool over;    /* the limit was passed, and the log says so */
    struct tail tail;
    struct str late_notes; /* ours since the tail began; they stand behind it */
    bool ended;
};

static void blocks_on_cut_timer(struct timer *timer, void *owner)
{
    (void)timer;
    blocks_cut(owner);
}

struct blocks *blocks_new(struct loop *loop, uint32_t step, uint32_t stream, uint64_t limit_bytes,
                          bool (*emit)(void *owner, const struct msg *block), void *owner)
{
    struct blocks *b = xcalloc(1, sizeof *b);

    b->loop = loop;
    b->step = step;
    b->stream = stream;
    b->limit_bytes = limit_bytes ? limit_bytes : UINT64_MAX;
    b->tail.cap =
        b->limit_bytes / 2 < BLOCKS_TAIL_BYTES ? (size_t)(b->limit_bytes / 2) : BLOCKS_TAIL_BYTES;
    b->first_bytes = b->limit_bytes - b->tail.cap;
    b->emit = emit;
    b->owner = owner;
    b->held.max = HELD_MAX;
    b->late_notes.max = NOTES_MAX;
    timer_init(&b->cut_timer, loop, blocks_on_cut_timer, b);
    return b;
}

void blocks_free(struct blocks *b)
{
    if (!b)
        return;
    timer_stop(&b->cut_timer);
    if (b->data)
        (void)deflateEnd(&b->deflate);
    free(b->data);
    free(b->tail.bytes);
    str_release(&b->held);
    str_release(&b->late_notes);
    free(b);
}

uint64_t blocks_total(const struct blocks *b)
{
    return b->total;
}

static void begin_stream(struct blocks *b)
{
    int rc;

    b->data = xmalloc(BLOCKS_DATA_BYTES);
    rc =
        deflateInit2(&b->deflate, 1, Z_DEFLATED, -MAX_WBITS, MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY);
    if (rc != Z_OK) { /* 256 KiB that are not there: as any other small allocation */
        (void)fprintf(stderr, "out of memory\n");
        abort();
    }
}

static void begin_block(struct blocks *b)
{
    if (!b->data)
        begin_stream(b);
    b->deflate.next_out = b->data;
    b->deflate.avail_out = BLOCKS_DATA_BYTES;
    b->block = (struct block){.time_ms = loop_wall_ms(b->loop)};
    timer_start(&b->cut_timer, BLOCKS_CUT_MS, 0);
}

static uint32_t count_lines(const char *p, size_t n)
{
    const char *end = p + n;
    uint32_t lines = 0;

    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
        lines++;
        p++;
    }
    return lines;
}

/* Compresses n bytes, which fit into the block. */
static void fill_block(struct blocks *b, const char *p, size_t n, int flush)
{
    int rc;

    b->deflate.next_in = (z_const Bytef *)p;
    b->deflate.avail_in = (uInt)n;
    rc = deflate(&b->deflate, flush);
    /* Room for incompressible bytes was made sure of by BLOCKS_DATA_BYTES. */
    assert(rc == Z_OK && b->deflate.avail_in == 0 && b->deflate.avail_out > 0);
    if (n == 0)
        return; /* crc32() of no bytes would begin anew */
    b->block.size += (uint32_t)n;
    b->block.lines += count_lines(p, n);
    b->block.crc = (uint32_t)crc32(b->block.crc, (const Bytef *)p, (uInt)n);
}

/* Offers the whole block; true when it was taken. */
static bool offer(struct blocks *b)
{
    struct msg msg = {.type = REC_LOG_BLOCK};

    msg.u.log_block = (struct msg_log_block){
        .step = b->step,
        .stream = b->stream,
        .offset = b->offset,
        .size = b->block.size,
        .lines = b->block.lines,
        .crc = b->block.crc,
        .time_ms = b->block.time_ms,
        .data = view_bytes(b->data, BLOCKS_DATA_BYTES - b->deflate.avail_out),
    };
    b->refused = !b->emit(b->owner, &msg);
    if (b->refused)
        return false;
    b->offset += b->block.size;
    b->block.size = 0;
    return true;
}

void blocks_cut(struct blocks *b)
{
    if (b->refused || b->block.size == 0)
        return;
    timer_stop(&b->cut_timer);
    fill_block(b, NULL, 0, Z_FULL_FLUSH);
    (void)offer(b);
}

/* Puts bytes into the log, whatever the limit. */
static void store(struct blocks *b, const char *p, size_t n)
{
    if (n > 0)
        b->in_line = p[n - 1] != '\n';
    while (n > 0 && !b->refused) {
        size_t room;
        size_t part;

        if (b->block.size == 0)
            begin_block(b);
        room = BLOCKS_CUT_BYTES - b->block.size;
        part = n < room ? n : room;
        fill_block(b, p, part, part == room ? Z_FULL_FLUSH : Z_NO_FLUSH);
        p += part;
        n -= part;
        if (part == room) {
            timer_stop(&b->cut_timer);
            (void)offer(b);
        }
    }
    if (n > 0)
        str_put_view(&b->held, view_bytes(p, n));
}

static void store_note(struct blocks *b, const char *text)
{
    if (b->in_line)
        store(b, "\n", 1);
    store(b, text, strlen(text));
    store(b, "\n", 1);
}

static void tail_add(struct tail *tail, const char *p, size_t n)
{
    size_t at;
    size_t part;

    if (!tail->bytes)
        tail->bytes = xmalloc(tail->cap);
    if (n > tail->cap) {
        p += n - tail->cap;
        n = tail->cap;
    }
    at = (tail->begin + tail->n) % tail->cap;
    part = n < tail->cap - at ? n : tail->cap - at;
    memcpy(tail->bytes + at, p, part);
    memcpy(tail->bytes, p + part, n - part);
    tail->n += n;
    if (tail->n > tail->cap) {
        tail->begin = (tail->begin + tail->n - tail->cap) % tail->cap;
        tail->n = tail->cap;
    }
}

static void say_over(struct blocks *b)
{
    char size[TEXT_SHORT_MAX];
    char tail[TEXT_SHORT_MAX];
    char text[160];

    b->over = true;
    (void)snprintf(text, sizeof text,
                   "tailrace: log_limit of %s reached; of the rest only the last %s will be kept",
                   text_show_size(b->limit_bytes, size), text_show_size(b->tail.cap, tail));
    store_note(b, text);
}

bool blocks_add(struct blocks *b, struct view bytes)
{
    uint64_t room = b->total < b->first_bytes ? b->first_bytes - b->total : 0;
    size_t first = bytes.n < room ? bytes.n : (size_t)room;

    assert(!b->ended);
    b->total += bytes.n;
    store(b, bytes.p, first);
    if (b->total > b->limit_bytes && !b->over)
        say_over(b);
    if (first < bytes.n && b->tail.cap > 0)
        tail_add(&b->tail, bytes.p + first, bytes.n - first);
    return !b->refused;
}

void blocks_note(struct blocks *b, const char *text)
{
    assert(!b->ended);
    if (b->total <= b->first_bytes) {
        store_note(b, text);
    } else if (b->late_notes.n + strlen(text) < NOTES_MAX) {
        str_put(&b->late_notes, text);
        str_putc(&b->late_notes, '\n');
    }
}

bool blocks_retry(struct blocks *b)
{
    struct view held;
    char *bytes;

    if (!b->refused)
        return true;
    if (!offer(b))
        return false;
    held.n = b->held.n;
    bytes = str_detach(&b->held);
    held.p = bytes;
    if (held.n > 0)
        store(b, held.p, held.n);
    free(bytes);
    return !b->refused;
}

static void store_tail(struct blocks *b)
{
    const struct tail *tail = &b->tail;
    size_t part = tail->n < tail->cap - tail->begin ? tail->n : tail->cap - tail->begin;
    char size[TEXT_SHORT_MAX];
    char text[128];

    if (b->over) {
        (void)snprintf(text, sizeof text,
                       "tailrace: %" PRIu64 " bytes left out here (log_limit %s)",
                       b->total - b->first_bytes - tail->n, text_show_size(b->limit_bytes, size));
        store_note(b, text);
    }
    if (tail->n == 0)
        return;
    store(b, tail->bytes + tail->begin, part);
    store(b, tail->bytes, tail->n - part);
}

bool blocks_finish(struct blocks *b)
{
    if (!b->ended) {
        store_tail(b);
        if (b->late_notes.n > 0 && b->in_line)
            store(b, "\n", 1);
        store(b, str_cstr(&b->late_notes), b->late_notes.n);
        b->ended = true;
    }
    if (!blocks_retry(b))
        return false;
    blocks_cut(b);
    return !b->refused;
}
