#include "common/base/str.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

struct view view_of(const char *cstr)
{
    return (struct view){cstr, cstr ? strlen(cstr) : 0};
}

struct view view_bytes(const void *p, size_t n)
{
    return (struct view){p, n};
}

bool view_equal(struct view a, struct view b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool view_is(struct view a, const char *cstr)
{
    return view_equal(a, view_of(cstr));
}

bool view_starts(struct view a, const char *prefix)
{
    size_t n = strlen(prefix);

    return a.n >= n && (n == 0 || memcmp(a.p, prefix, n) == 0);
}

char *view_dup(struct view v)
{
    char *copy = xmalloc(v.n + 1);

    if (v.n)
        memcpy(copy, v.p, v.n);
    copy[v.n] = '\0';
    return copy;
}

void str_release(struct str *s)
{
    free(s->p);
    s->p = NULL;
    s->n = s->cap = 0;
}

void str_clear(struct str *s)
{
    s->n = 0;
    if (s->p)
        s->p[0] = '\0';
}

char *str_room(struct str *s, size_t n)
{
    if (n > s->max || s->n > s->max - n)
        return NULL;
    if (s->n + n + 1 > s->cap) {
        size_t cap = s->cap ? s->cap : 64;

        while (cap < s->n + n + 1)
            cap *= 2;
        s->p = xrealloc(s->p, cap);
        s->cap = cap;
    }
    return s->p + s->n;
}

void str_grew(struct str *s, size_t n)
{
    assert(s->p && s->n + n < s->cap);
    s->n += n;
    s->p[s->n] = '\0';
}

enum err_code str_append(struct str *s, const void *p, size_t n, struct err *err)
{
    char *room = str_room(s, n);

    if (!room)
        return err_set(err, ERR_LIMIT, "over the maximum of %zu bytes", s->max);
    if (n)
        memcpy(room, p, n);
    str_grew(s, n);
    return ERR_OK;
}

void str_cut(struct str *s, size_t n)
{
    assert(n <= s->n);
    s->n = n;
    if (s->p)
        s->p[n] = '\0';
}

void str_consume(struct str *s, size_t n)
{
    assert(n <= s->n);
    if (n == 0)
        return;
    memmove(s->p, s->p + n, s->n - n);
    s->n -= n;
    s->p[s->n] = '\0';
}

static void put(struct str *s, const char *p, size_t n)
{
    if (str_append(s, p, n, NULL) != ERR_OK) {
        (void)fputs("tailrace: a string passed the bound that its owner gave it\n", stderr);
        abort();
    }
}

void str_put(struct str *s, const char *cstr)
{
    put(s, cstr, strlen(cstr));
}

void str_put_view(struct str *s, struct view v)
{
    put(s, v.p, v.n);
}

void str_putc(struct str *s, char c)
{
    put(s, &c, 1);
}

void str_printf(struct str *s, const char *fmt, ...)
{
    char small[256];
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(small, sizeof small, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    if ((size_t)n < sizeof small) {
        put(s, small, (size_t)n);
        return;
    }
    if (!str_room(s, (size_t)n))
        put(s, "", s->max + 1);
    va_start(args, fmt);
    (void)vsnprintf(s->p + s->n, (size_t)n + 1, fmt, args);
    va_end(args);
    str_grew(s, (size_t)n);
}

const char *str_cstr(const struct str *s)
{
    return s->p ? s->p : "";
}

struct view str_view(const struct str *s)
{
    return (struct view){str_cstr(s), s->n};
}

char *str_detach(struct str *s)
{
    char *p = s->p ? s->p : xstrdup("");

    s->p = NULL;
    s->n = s->cap = 0;
    return p;
}
