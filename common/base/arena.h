/*
 * arena: many small pieces of memory that die together. Nothing is freed alone. Embedded in its
 * owner: zero it, allocate, arena_release. The owner bounds what goes in; without memory the
 * program aborts.
 */
#ifndef TAILRACE_COMMON_BASE_ARENA_H
#define TAILRACE_COMMON_BASE_ARENA_H

#include <stddef.h>

#include "common/base/str.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks; /* the first is the one in use */
};

/* n zeroed bytes, aligned for any type, good until the release. */
void *arena_alloc(struct arena *arena, size_t n);
/* A copy with a NUL behind it. */
struct view arena_copy(struct arena *arena, struct view v);
/* Frees everything; the arena is empty and usable afterwards. */
void arena_release(struct arena *arena);

#endif
