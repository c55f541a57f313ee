/*
 * From the pairs of a YAML mapping as they are written to the entries that count: duplicate keys
 * are reported, and what "<<" brings is put behind. For yamltree alone.
 */
#ifndef TAILRACE_COMMON_BASE_YAMLMERGE_H
#define TAILRACE_COMMON_BASE_YAMLMERGE_H

#include "common/base/yamltree.h"

typedef VEC(struct yaml_entry) yaml_entries;

/* The order of two texts, byte by byte, as memcmp() says it. */
int yaml_compare(struct view a, struct view b);

/* Appends to *out. All keys are scalars. Of two equal keys the first counts, an explicit one before
 * a merged one; only two explicit ones are an error. The nodes stay their owner's. */
void yaml_merge(const yaml_entries *written, struct yaml_errors *errors, yaml_entries *out);

#endif
