/*
 * Globs over branch names and paths: '*' and '?' do not cross '/', '**' does, [a-z] sets. Compiled
 * once with PCRE2's converter, matched with its match and depth limits, so a hostile pattern costs
 * bounded time.
 */
#ifndef TAILRACE_COMMON_BASE_GLOB_H
#define TAILRACE_COMMON_BASE_GLOB_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/base/str.h"

struct glob;

/* *out is the caller's (glob_free). ERR_CONFIG with a sentence for a bad pattern. A compiled glob
 * is read-only and may be used from several threads. */
enum err_code glob_new(struct view pattern, struct glob **out, struct err *err) TAILRACE_MUST_CHECK;
void glob_free(struct glob *glob); /* NULL allowed */
bool glob_match(const struct glob *glob, struct view text);
/* The pattern as written. */
const char *glob_text(const struct glob *glob);
/* Whether it has no wildcard, i.e. matches one text only. */
bool glob_is_literal(const struct glob *glob);

#endif
