/*
 * Small readings of text: durations, sizes, numbers, host patterns, and the nearest word for
 * "did you mean". Pure.
 */
#ifndef TAILRACE_COMMON_BASE_TEXT_H
#define TAILRACE_COMMON_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/base/vec.h"

/* "500ms", "30s", "2m", "1h", "3d", "1h30m"; a bare number is seconds. Result in ms; ERR_CONFIG
 * else. */
enum err_code text_duration(struct view text, uint64_t *ms, struct err *err) TAILRACE_MUST_CHECK;
/* "4096", "64KiB", "200MiB", "1GiB", "2TB" (kB, MB, GB, TB are powers of 1000; K, M, G, T and *iB
 * of 1024). Result in bytes; ERR_CONFIG else. */
enum err_code text_size(struct view text, uint64_t *bytes, struct err *err) TAILRACE_MUST_CHECK;
/* A whole decimal number between least and most, nothing around it. ERR_CONFIG else. */
enum err_code text_u64(struct view text, uint64_t least, uint64_t most, uint64_t *out,
                       struct err *err) TAILRACE_MUST_CHECK;

/* "1.2 s", "3 min 04 s", "2 h 05 min", for people; writes into out, returns out. */
enum { TEXT_SHORT_MAX = 32 };
const char *text_show_duration(uint64_t ms, char out[TEXT_SHORT_MAX]);
/* "512 B", "1.4 KiB", "200 MiB". */
const char *text_show_size(uint64_t bytes, char out[TEXT_SHORT_MAX]);

/* The word of words[0..n) nearest to given (Damerau-Levenshtein, at most a third of its length, at
 * least 1, at most 3 edits), or NULL. */
const char *text_nearest(struct view given, const char *const *words, size_t n);

typedef VEC(char *) text_list;
/* Releases the strings and the array. */
void text_list_release(text_list *list);

/* Expands a host pattern: "linux-[01-03]" gives linux-01 linux-02 linux-03 (width kept when the
 * first number has leading zeros), several brackets multiply, "[a,b,07-09]" lists. At most `most`
 * names (ERR_LIMIT). Appends owned strings to *out. ERR_CONFIG for a bad pattern. */
enum err_code text_expand_hosts(struct view pattern, size_t most, text_list *out,
                                struct err *err) TAILRACE_MUST_CHECK;

/* Appends text as one word of a /bin/sh command line, quoted when needed. For showing, not running.
 */
void text_shell_word(struct str *out, const char *word);

/* Appends bytes with everything that is not printable ASCII or valid UTF-8 as \xNN; what logs and
 * error sentences use for what a peer sent. At most max_bytes are read. */
void text_escape(struct str *out, struct view bytes, size_t max_bytes);

/* Length of the valid UTF-8 sequence at p (1 to 4), or 0 when the bytes there are not one. */
size_t text_utf8_len(const unsigned char *p, size_t n);

#endif
