/*
 * Memory: small fixed allocations abort when there is none left; sizes that come from files or
 * peers are bounded by their caller first (str, vec) and never reach these unchecked.
 */
#ifndef TAILRACE_COMMON_BASE_MEM_H
#define TAILRACE_COMMON_BASE_MEM_H

#include <stddef.h>

/* Zeroed memory for n objects of the given size; aborts when out of memory. The caller frees with
 * free(). */
void *xcalloc(size_t n, size_t size);
/* As malloc, realloc, strdup, strndup; abort instead of returning NULL. Ownership as theirs. */
void *xmalloc(size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
void *xmemdup(const void *p, size_t n);
/* A formatted string; the caller frees it. */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
