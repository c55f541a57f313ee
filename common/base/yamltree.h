/*
 * yamltree: a YAML document as a tree of nodes that know their file, line and column. Built by
 * libyaml; on top of it: duplicate keys, tabs and merge keys are handled, anchors work, alias bombs
 * do not (limits on nodes after expansion, depth and text). Scalars keep their text; the reader of
 * a key decides what type it is, so "no", "1.10" and "0755" are never turned into something else.
 * YAML 1.2 flow and block style.
 *
 * Errors are collected, not returned one by one: yaml_errors is a list of "file:line:column: what:
 * expected".
 */
#ifndef TAILRACE_COMMON_BASE_YAMLTREE_H
#define TAILRACE_COMMON_BASE_YAMLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/base/vec.h"

/* YAML_NULL is nothing at all, or ~ or null without quotes; its text is kept like a scalar's. */
enum yaml_kind { YAML_NULL, YAML_SCALAR, YAML_LIST, YAML_MAP };

enum {
    YAML_MAX_BYTES = 4 << 20,
    YAML_MAX_DEPTH = 32,
    YAML_MAX_NODES = 200000,  /* counted after aliases are expanded */
    YAML_MAX_TEXT = 16 << 20, /* bytes of all scalars, also after aliases are expanded */
    YAML_MAX_ANCHORS = 1000,
    YAML_MAX_ERRORS = 100,
};

struct yaml_node {
    enum yaml_kind kind;
    const char *file;      /* owned by the tree */
    unsigned line, column; /* from 1 */
    bool quoted;           /* scalar in quotes or a block scalar: certainly a string */
    struct view text;      /* scalar */
    size_t n;              /* entries of a list or map */
    struct yaml_entry *entries;
};

struct yaml_entry {
    struct yaml_node *key; /* NULL in a list; always a scalar in a map */
    struct yaml_node *value;
};

struct yaml_tree; /* owns nodes and texts */

/* The errors of one load; each text is owned by the list. */
struct yaml_errors {
    VEC(char *) v;
    bool more; /* over YAML_MAX_ERRORS: the rest was dropped */
};
void yaml_errors_release(struct yaml_errors *errors);
/* Adds "file:line:column: formatted" (the formatted text alone when node is NULL), with control
 * characters as \xNN: what is formatted may quote the file as it is. */
void yaml_error(struct yaml_errors *errors, const struct yaml_node *node, const char *fmt, ...)
    TAILRACE_PRINTF(3, 4);
/* The same for a place without a node; line 0 leaves line and column out. */
void yaml_error_at(struct yaml_errors *errors, const char *file, unsigned line, unsigned column,
                   const char *fmt, ...) TAILRACE_PRINTF(5, 6);

/* Parses text. file is used in places only. NULL and at least one entry in *errors when the text is
 * not a YAML document within the limits. Errors that leave a tree to go on with are added to
 * *errors, but it is still returned: duplicate keys and anchors (the first key and the last anchor
 * count), keys that are not text (left out), tags other than those of plain YAML types (ignored).
 */
struct yaml_tree *yaml_parse(struct view text, const char *file, struct yaml_errors *errors);
void yaml_tree_free(struct yaml_tree *tree); /* NULL allowed */
/* Never NULL; an empty document has a YAML_NULL root. Borrowed from the tree. */
const struct yaml_node *yaml_root(const struct yaml_tree *tree);

/* The value of key in a map, or NULL. */
const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key);
/* "a mapping", "a list", "text", "nothing": for sentences. */
const char *yaml_kind_name(const struct yaml_node *node);

/* Typed reads. Each adds an error and returns false when the node is not that; the output is
 * untouched then. NULL nodes are the caller's business. */
bool yaml_read_text(const struct yaml_node *node, struct yaml_errors *errors,
                    char **out); /* owned copy; frees the old */
bool yaml_read_bool(const struct yaml_node *node, struct yaml_errors *errors,
                    bool *out); /* true/false yes/no on/off */
bool yaml_read_u64(const struct yaml_node *node, struct yaml_errors *errors, uint64_t least,
                   uint64_t most, uint64_t *out);
bool yaml_read_duration(const struct yaml_node *node, struct yaml_errors *errors, uint64_t *ms);
bool yaml_read_size(const struct yaml_node *node, struct yaml_errors *errors, uint64_t *bytes);
/* The word's index in words, with a suggestion for a misspelt one. */
bool yaml_read_word(const struct yaml_node *node, struct yaml_errors *errors,
                    const char *const *words, size_t n, size_t *index);
/* Checks that the node is a map whose keys are all in words; unknown ones are errors with a
 * suggestion. */
bool yaml_check_keys(const struct yaml_node *node, struct yaml_errors *errors, const char *what,
                     const char *const *words, size_t n);

#endif
