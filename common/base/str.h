/*
 * view: bytes that somebody else owns. str: bytes being built, with a maximum given at creation, so
 * that nothing a peer or a file says can make it grow for ever. A str is always NUL-terminated
 * (str_cstr), may hold NUL bytes, and is embedded in its owner: STR_INIT(max), then str_release.
 */
#ifndef TAILRACE_COMMON_BASE_STR_H
#define TAILRACE_COMMON_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"

struct view {
    const char *p;
    size_t n;
};

#define VIEW_NULL ((struct view){NULL, 0})
/* printf("%.*s", VIEW_ARG(v)) */
#define VIEW_ARG(view) (int)(view).n, (view).p ? (view).p : ""

struct view view_of(const char *cstr); /* NULL gives an empty view */
struct view view_bytes(const void *p, size_t n);
bool view_equal(struct view a, struct view b);
bool view_is(struct view a, const char *cstr);
bool view_starts(struct view a, const char *prefix);
/* A NUL-terminated copy that the caller frees. */
char *view_dup(struct view v);

struct str {
    char *p; /* NULL while empty and never written */
    size_t n, cap, max;
};

/* A string that refuses to grow over max bytes. */
#define STR_INIT(max_bytes)                                                                        \
    {                                                                                              \
        NULL, 0, 0, (max_bytes)                                                                    \
    }

void str_release(struct str *s);
void str_clear(struct str *s); /* empty, memory kept */
/* Appends; ERR_LIMIT when the maximum would be passed, and then nothing is appended. */
enum err_code str_append(struct str *s, const void *p, size_t n,
                         struct err *err) TAILRACE_MUST_CHECK;
/* Room for n more bytes; returns where to write them (then str_grew), NULL over the maximum. */
char *str_room(struct str *s, size_t n);
void str_grew(struct str *s, size_t n);
/* Drops what stands behind the first n bytes. */
void str_cut(struct str *s, size_t n);
/* Drops the first n bytes. */
void str_consume(struct str *s, size_t n);
/* For text whose size the caller has bounded: abort over the maximum. */
void str_put(struct str *s, const char *cstr);
void str_put_view(struct str *s, struct view v);
void str_putc(struct str *s, char c);
void str_printf(struct str *s, const char *fmt, ...) TAILRACE_PRINTF(2, 3);
/* Never NULL. Good until the next change. */
const char *str_cstr(const struct str *s);
struct view str_view(const struct str *s);
/* The caller owns the returned NUL-terminated bytes; s is empty afterwards. */
char *str_detach(struct str *s);

#endif
