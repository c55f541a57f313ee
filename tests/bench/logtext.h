/*
 * logtext: text as builds write it (compiler lines, warnings, test results), the same for the same
 * seed on every machine, which level 1 deflate makes about five times smaller.
 */
#ifndef TAILRACE_TESTS_BENCH_LOGTEXT_H
#define TAILRACE_TESTS_BENCH_LOGTEXT_H

#include <stddef.h>
#include <stdint.h>

enum { LOGTEXT_UNIT_MAX = 1024 };

struct logtext {
    uint64_t random;
    uint64_t unit; /* how many were written */
};

void logtext_init(struct logtext *text, uint64_t seed);
/* Writes the next few whole lines, LOGTEXT_UNIT_MAX bytes at most; returns how many bytes. */
size_t logtext_next(struct logtext *text, char out[LOGTEXT_UNIT_MAX]);
/* Fills n bytes; the last line is cut, and ends in a newline. */
void logtext_fill(struct logtext *text, char *out, size_t n);

#endif
