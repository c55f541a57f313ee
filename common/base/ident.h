/*
 * Identities: boot ids and tokens. 48 bits of wall milliseconds and 80 random bits, as 32
 * lower-case hexadecimal digits, so that they sort by time of creation.
 */
#ifndef TAILRACE_COMMON_BASE_IDENT_H
#define TAILRACE_COMMON_BASE_IDENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"

enum { IDENT_MAX = 33 }; /* with the NUL */

void ident_new(int64_t wall_ms, char out[IDENT_MAX]);

/* Names of slaves, pools, builders, projects, steps, packages: 1 to 64 of letters, digits, '.',
 * '_', '-', not starting with '.' or '-'. They become file names and environment values. */
bool ident_is_name(struct view name);

#endif
