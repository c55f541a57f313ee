/*
 * vec: a growing array of one type. Declare a field as VEC(struct thing) things; zero it, push,
 * index things.v[i] below things.n, and release. Elements own what their owner says they own;
 * release frees the array alone.
 */
#ifndef TAILRACE_COMMON_BASE_VEC_H
#define TAILRACE_COMMON_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *v;                                                                                   \
        size_t n, cap;                                                                             \
    }

/* Grows by doubling; returns the array. */
static inline void *vec_reserve(void *v, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return v;
    *cap = *cap ? *cap * 2 : 8;
    if (*cap < need)
        *cap = need;
    return xrealloc(v, *cap * size);
}

/* Appends a copy of item. */
#define vec_push(vec, item)                                                                        \
    ((vec)->v = vec_reserve((vec)->v, &(vec)->cap, (vec)->n + 1, sizeof *(vec)->v),                \
     (vec)->v[(vec)->n++] = (item))

/* Appends a zeroed element and yields a pointer to it, good until the next push. */
#define vec_add(vec)                                                                               \
    ((vec)->v = vec_reserve((vec)->v, &(vec)->cap, (vec)->n + 1, sizeof *(vec)->v),                \
     memset(&(vec)->v[(vec)->n], 0, sizeof *(vec)->v), &(vec)->v[(vec)->n++])

#define vec_release(vec) (free((vec)->v), (vec)->v = NULL, (vec)->n = (vec)->cap = 0)

#define VEC_FOREACH(vec, it) for ((it) = (vec)->v; (it) && (it) < (vec)->v + (vec)->n; (it)++)

#endif
