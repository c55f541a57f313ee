/*
 * Where and in which words yamltree reports that a text is not YAML. Pure; for yamltree alone.
 */
#ifndef TAILRACE_COMMON_BASE_YAMLPLACE_H
#define TAILRACE_COMMON_BASE_YAMLPLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/str.h"

struct yaml_place {
    unsigned line, column; /* from 1; columns are characters */
};

/* Whether the text is UTF-16, as its byte order mark says. */
bool yaml_place_is_utf16(struct view text);
/* Whether a tab is to blame for a problem at a place: one in the indentation of that line, or right
 * there. Its place goes to *tab. Never in UTF-16. */
bool yaml_place_tab(struct view text, struct yaml_place problem, struct yaml_place *tab);
/* The place of the byte at offset, in UTF-8 or UTF-16. */
struct yaml_place yaml_place_byte(struct view text, size_t offset);
/* What to say instead of libyaml's problem where its words only make sense to its authors. Returns
 * the problem itself, or a constant. */
const char *yaml_place_words(const char *problem);

#endif
