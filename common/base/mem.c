#include "common/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *checked(void *p)
{
    if (!p) {
        (void)fputs("tailrace: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    return checked(calloc(n ? n : 1, size ? size : 1));
}

void *xmalloc(size_t size)
{
    return checked(malloc(size ? size : 1));
}

void *xrealloc(void *old, size_t size)
{
    return checked(realloc(old, size ? size : 1));
}

char *xstrdup(const char *s)
{
    return checked(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
    return checked(strndup(s, n));
}

void *xmemdup(const void *p, size_t n)
{
    void *copy = xmalloc(n);

    if (n)
        memcpy(copy, p, n);
    return copy;
}

char *xasprintf(const char *fmt, ...)
{
    char *s = NULL;
    va_list args;

    va_start(args, fmt);
    if (vasprintf(&s, fmt, args) < 0)
        s = NULL;
    va_end(args);
    return checked(s);
}
