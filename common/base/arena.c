#include "common/base/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

enum { CHUNK_BYTES = 16 << 10, ALIGN = alignof(max_align_t) };

struct arena_chunk {
    struct arena_chunk *next;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

static struct arena_chunk *chunk_new(size_t size)
{
    struct arena_chunk *chunk = xcalloc(1, sizeof *chunk + size);

    chunk->size = size;
    return chunk;
}

void *arena_alloc(struct arena *arena, size_t n)
{
    struct arena_chunk *chunk = arena->chunks;
    size_t need = (n + ALIGN - 1) / ALIGN * ALIGN;
    void *p;

    if (need > CHUNK_BYTES / 4) {
        /* A chunk of its own, behind the one in use, whose room is not given up. */
        struct arena_chunk *own = chunk_new(need);

        own->used = need;
        own->next = chunk ? chunk->next : NULL;
        if (chunk)
            chunk->next = own;
        else
            arena->chunks = own;
        return own->bytes;
    }
    if (!chunk || chunk->size - chunk->used < need) {
        chunk = chunk_new(CHUNK_BYTES);
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    p = chunk->bytes + chunk->used;
    chunk->used += need;
    return p;
}

struct view arena_copy(struct arena *arena, struct view v)
{
    char *copy = arena_alloc(arena, v.n + 1);

    if (v.n)
        memcpy(copy, v.p, v.n);
    return view_bytes(copy, v.n);
}

void arena_release(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *chunk = arena->chunks;

        arena->chunks = chunk->next;
        free(chunk);
    }
}
