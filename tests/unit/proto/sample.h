/*
 * sample: messages of every type with arbitrary but repeatable content, made from the same tables
 * as the codec. For tests.
 */
#ifndef TAILRACE_TESTS_UNIT_PROTO_SAMPLE_H
#define TAILRACE_TESTS_UNIT_PROTO_SAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/vec.h"
#include "proto/codec.h"
#include "proto/shape.h"

enum { SAMPLE_NUMBERS = 128 }; /* above every message number */

struct sample {
    struct msg msg;
    uint64_t state; /* of the generator */
    VEC(void *) memory;
};

static inline uint64_t sample_next(struct sample *s)
{
    s->state ^= s->state << 13;
    s->state ^= s->state >> 7;
    s->state ^= s->state << 17;
    return s->state;
}

static inline void *sample_alloc(struct sample *s, size_t n, size_t size)
{
    void *p = xcalloc(n + 1, size);

    vec_push(&s->memory, p);
    return p;
}

static inline struct view sample_bytes(struct sample *s, size_t most)
{
    size_t n = (size_t)(sample_next(s) % 20);
    char *p;

    n = n < most ? n : most;
    p = sample_alloc(s, n, 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(sample_next(s) & 0xff);
    return view_bytes(p, n);
}

/* All widths of numbers are met, not only the large ones. */
static inline uint64_t sample_number(struct sample *s)
{
    return sample_next(s) >> (sample_next(s) % 64);
}

static inline void sample_fields(struct sample *s, const struct shape *shape, void *object);

static inline void sample_list(struct sample *s, const struct field *field, void *at)
{
    size_t n = (size_t)(sample_next(s) % 4);
    size_t size = field->element ? field->element->size : sizeof(struct view);
    char *items = sample_alloc(s, n, size);
    struct field_list list = {items, n};

    for (size_t i = 0; i < n; i++) {
        if (field->element)
            sample_fields(s, field->element, items + i * size);
        else
            ((struct view *)(void *)items)[i] = sample_bytes(s, field->most_each);
    }
    memcpy(at, &list, sizeof list);
}

static inline void sample_fields(struct sample *s, const struct shape *shape, void *object)
{
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];
        void *at = (char *)object + field->offset;

        switch (field->kind) {
        case FIELD_U32:
            *(uint32_t *)at = (uint32_t)sample_number(s);
            break;
        case FIELD_U64:
            *(uint64_t *)at = sample_number(s);
            break;
        case FIELD_I64:
            *(int64_t *)at = (int64_t)sample_number(s) * (sample_next(s) & 1 ? 1 : -1);
            break;
        case FIELD_F64:
            *(double *)at = (double)sample_number(s) / 1000.0;
            break;
        case FIELD_BOOL:
            *(bool *)at = sample_next(s) & 1;
            break;
        case FIELD_TEXT:
        case FIELD_BIN:
            *(struct view *)at = sample_bytes(s, field->most);
            break;
        case FIELD_TEXTS:
        case FIELD_LIST:
            sample_list(s, field, at);
            break;
        }
    }
}

/* number is one that shape_find() knows. Released by sample_release(). */
static inline void sample_make(struct sample *s, unsigned number, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->state = seed * 0x9e3779b97f4a7c15U + number + 1;
    s->msg.type = (enum msg_type)number;
    sample_fields(s, shape_find(number), &s->msg.u);
}

static inline void sample_release(struct sample *s)
{
    for (size_t i = 0; i < s->memory.n; i++)
        free(s->memory.v[i]);
    vec_release(&s->memory);
}

#endif
