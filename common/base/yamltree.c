#include "common/base/yamltree.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "common/base/arena.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/base/yamlmerge.h"
#include "common/base/yamlplace.h"

enum { SHOWN_MAX = 60, SHOWN_ROOM = 4 * SHOWN_MAX + 1 };

/* A node, and what it costs to use it once more. Aliases share nodes; only these counts are
 * expanded. */
struct built {
    struct yaml_node node; /* first: a node's address is its built's */
    size_t nodes;
    size_t text_bytes;
    unsigned height; /* 1 for a scalar */
};

struct anchor {
    struct view name; /* in the arena */
    struct built *target;
    bool open; /* its list or map has not ended */
};

struct yaml_tree {
    struct arena arena;
    const char *file;
    const struct yaml_node *root;
};

struct loader {
    yaml_parser_t parser;
    struct view text;
    struct yaml_tree *tree;
    struct yaml_errors *errors;
    VEC(struct anchor) anchors; /* sorted by name */
    size_t nodes;               /* so far, aliases expanded */
    size_t text_bytes;
    bool unusable; /* an error was reported that leaves no tree to go on with */
};

#define ERROR_AT_MARK(l, mark, ...)                                                                \
    yaml_error_at((l)->errors, (l)->tree->file, (unsigned)(mark).line + 1,                         \
                  (unsigned)(mark).column + 1, __VA_ARGS__)

static const struct built *built_of(const struct yaml_node *node)
{
    return (const struct built *)node;
}

/* Bytes of the user's as they can stand in a sentence. */
static const char *show(struct view text, char out[SHOWN_ROOM])
{
    struct str s = STR_INIT(SHOWN_ROOM - 1);

    text_escape(&s, text, SHOWN_MAX);
    memcpy(out, str_cstr(&s), s.n + 1);
    str_release(&s);
    return out;
}

/* --- syntax errors -------------------------------------------------------------------------- */

/* The reader found bytes that are no text; all it knows is how far it came. */
static void report_bytes(struct loader *l)
{
    struct yaml_place place = yaml_place_byte(l->text, l->parser.problem_offset);

    yaml_error_at(l->errors, l->tree->file, place.line, place.column,
                  "%s (0x%02x): expected UTF-8 text", l->parser.problem,
                  (unsigned)l->parser.problem_value);
}

static void report_syntax(struct loader *l)
{
    const yaml_parser_t *p = &l->parser;
    const char *words = yaml_place_words(p->problem ? p->problem : "not YAML");
    struct yaml_place at = {(unsigned)p->problem_mark.line + 1,
                            (unsigned)p->problem_mark.column + 1};
    struct yaml_place tab;

    l->unusable = true;
    if (p->error == YAML_READER_ERROR)
        report_bytes(l);
    else if (yaml_place_tab(l->text, at, &tab))
        yaml_error_at(l->errors, l->tree->file, tab.line, tab.column,
                      "a tab in the indentation: expected spaces");
    else if (p->context)
        ERROR_AT_MARK(l, p->problem_mark, "%s (%s that began at line %u, column %u)", words,
                      p->context, (unsigned)p->context_mark.line + 1,
                      (unsigned)p->context_mark.column + 1);
    else
        ERROR_AT_MARK(l, p->problem_mark, "%s", words);
}

/* --- nodes ---------------------------------------------------------------------------------- */

/* false when the text stops making sense, which is then reported. The caller deletes the event. */
static bool next_event(struct loader *l, yaml_event_t *event)
{
    if (yaml_parser_parse(&l->parser, event))
        return true;
    report_syntax(l);
    return false;
}

/* Counts what a node adds to the expanded tree; false, and reported, over the limits. */
static bool charge(struct loader *l, yaml_mark_t mark, size_t nodes, size_t text_bytes)
{
    if (nodes > YAML_MAX_NODES - l->nodes) {
        ERROR_AT_MARK(l, mark, "too much: expected at most %d values, aliases counted in full",
                      YAML_MAX_NODES);
        l->unusable = true;
        return false;
    }
    if (text_bytes > YAML_MAX_TEXT - l->text_bytes) {
        ERROR_AT_MARK(l, mark, "too much: expected at most %d bytes, aliases counted in full",
                      YAML_MAX_TEXT);
        l->unusable = true;
        return false;
    }
    l->nodes += nodes;
    l->text_bytes += text_bytes;
    return true;
}

static bool check_depth(struct loader *l, yaml_mark_t mark, unsigned depth)
{
    if (depth <= YAML_MAX_DEPTH)
        return true;
    ERROR_AT_MARK(l, mark, "nested too deep: expected at most %d levels", YAML_MAX_DEPTH);
    l->unusable = true;
    return false;
}

static struct built *built_new(struct loader *l, yaml_mark_t mark, enum yaml_kind kind)
{
    struct built *b = arena_alloc(&l->tree->arena, sizeof *b);

    b->node.kind = kind;
    b->node.file = l->tree->file;
    b->node.line = (unsigned)mark.line + 1;
    b->node.column = (unsigned)mark.column + 1;
    b->node.text = view_of("");
    b->nodes = 1;
    b->height = 1;
    return b;
}

/* Where in the sorted anchors the name stands, or would. */
static size_t anchor_slot(const struct loader *l, struct view name)
{
    size_t low = 0;
    size_t high = l->anchors.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (yaml_compare(l->anchors.v[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct anchor *anchor_find(struct loader *l, struct view name)
{
    size_t slot = anchor_slot(l, name);

    if (slot == l->anchors.n || !view_equal(l->anchors.v[slot].name, name))
        return NULL;
    return &l->anchors.v[slot];
}

static struct anchor *anchor_insert(struct loader *l, struct view name)
{
    size_t slot = anchor_slot(l, name);
    struct anchor *anchor;

    (void)vec_add(&l->anchors);
    anchor = &l->anchors.v[slot];
    memmove(anchor + 1, anchor, (l->anchors.n - 1 - slot) * sizeof *anchor);
    *anchor = (struct anchor){.name = arena_copy(&l->tree->arena, name)};
    return anchor;
}

/* Gives the node the name that stands before it, if any. It stays open until anchor_close. False,
 * and reported, when there are too many. */
static bool anchor_open(struct loader *l, const yaml_char_t *name, struct built *target)
{
    struct view given = view_of((const char *)name);
    struct anchor *anchor;
    char shown[SHOWN_ROOM];

    if (!name)
        return true;
    anchor = anchor_find(l, given);
    if (anchor) {
        yaml_error(l->errors, &target->node,
                   "duplicate anchor '&%s': already given at line %u, column %u",
                   show(given, shown), anchor->target->node.line, anchor->target->node.column);
    } else if (l->anchors.n == YAML_MAX_ANCHORS) {
        yaml_error(l->errors, &target->node, "too many anchors: expected at most %d",
                   YAML_MAX_ANCHORS);
        l->unusable = true;
        return false;
    } else {
        anchor = anchor_insert(l, given);
    }
    anchor->target = target;
    anchor->open = true;
    return true;
}

static void anchor_close(struct loader *l, const yaml_char_t *name, const struct built *target)
{
    struct anchor *anchor = name ? anchor_find(l, view_of((const char *)name)) : NULL;

    /* A node inside may have taken the name over. */
    if (anchor && anchor->target == target)
        anchor->open = false;
}

/* Whether the tag says that the value is text. Tags that we would have to act on are refused. */
static bool tag_is_text(struct loader *l, const yaml_char_t *tag, yaml_mark_t mark)
{
    static const char prefix[] = "tag:yaml.org,2002:";
    static const char *const known[] = {"str", "int", "float", "bool", "null", "map", "seq"};
    const char *name = (const char *)tag;
    char shown[SHOWN_ROOM];

    if (!name)
        return false;
    if (strcmp(name, "!") == 0)
        return true;
    if (strncmp(name, prefix, sizeof prefix - 1) == 0) {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (strcmp(name + sizeof prefix - 1, known[i]) == 0)
                return i == 0;
        }
    }
    ERROR_AT_MARK(l, mark, "tag '%s' has no meaning here: expected none",
                  show(view_of(name), shown));
    return false;
}

static bool is_null_word(struct view text)
{
    return text.n == 0 || view_is(text, "~") || view_is(text, "null") || view_is(text, "Null") ||
           view_is(text, "NULL");
}

static struct built *load_scalar(struct loader *l, const yaml_event_t *event)
{
    struct view text = view_bytes(event->data.scalar.value, event->data.scalar.length);
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    struct built *b;

    if (!charge(l, event->start_mark, 1, text.n))
        return NULL;
    if (tag_is_text(l, event->data.scalar.tag, event->start_mark))
        quoted = true;
    b = built_new(l, event->start_mark, !quoted && is_null_word(text) ? YAML_NULL : YAML_SCALAR);
    b->node.quoted = quoted;
    b->node.text = arena_copy(&l->tree->arena, text);
    b->text_bytes = text.n;
    if (!anchor_open(l, event->data.scalar.anchor, b))
        return NULL;
    anchor_close(l, event->data.scalar.anchor, b);
    return b;
}

static struct built *load_alias(struct loader *l, const yaml_event_t *event, unsigned depth)
{
    struct view name = view_of((const char *)event->data.alias.anchor);
    struct anchor *anchor = anchor_find(l, name);
    char shown[SHOWN_ROOM];

    if (anchor && !anchor->open) {
        if (!check_depth(l, event->start_mark, depth + anchor->target->height - 1) ||
            !charge(l, event->start_mark, anchor->target->nodes, anchor->target->text_bytes))
            return NULL;
        return anchor->target;
    }
    if (anchor)
        ERROR_AT_MARK(l, event->start_mark, "alias '*%s' stands inside what it names",
                      show(name, shown));
    else
        ERROR_AT_MARK(l, event->start_mark,
                      "unknown alias '*%s': expected an anchor '&%s' before it", show(name, shown),
                      shown);
    l->unusable = true;
    return charge(l, event->start_mark, 1, 0) ? built_new(l, event->start_mark, YAML_NULL) : NULL;
}

static struct built *load_node(struct loader *l, const yaml_event_t *event, unsigned depth);

/* Loads the next node of a list or map; *end when that ends instead. NULL at the end or when
 * broken. */
static struct built *load_next(struct loader *l, unsigned depth, yaml_event_type_t closer,
                               bool *end, bool *plain)
{
    yaml_event_t event;
    struct built *b = NULL;

    if (!next_event(l, &event))
        return NULL;
    *end = event.type == closer;
    *plain = event.type == YAML_SCALAR_EVENT;
    if (!*end)
        b = load_node(l, &event, depth);
    yaml_event_delete(&event);
    return b;
}

/* Makes the entries the node's and adds up what they cost. */
static void adopt_entries(struct loader *l, struct built *b, const yaml_entries *entries)
{
    b->node.n = entries->n;
    b->node.entries = arena_alloc(&l->tree->arena, entries->n * sizeof *entries->v);
    for (size_t i = 0; i < entries->n; i++) {
        const struct built *value = built_of(entries->v[i].value);
        const struct built *key = built_of(entries->v[i].key);

        b->node.entries[i] = entries->v[i];
        b->nodes += value->nodes + (key ? key->nodes : 0);
        b->text_bytes += value->text_bytes + (key ? key->text_bytes : 0);
        if (value->height >= b->height)
            b->height = value->height + 1;
    }
}

static struct built *load_list(struct loader *l, const yaml_event_t *start, unsigned depth)
{
    struct built *b;
    struct built *item;
    yaml_entries entries = {NULL, 0, 0};
    bool end = false;
    bool plain;

    if (!charge(l, start->start_mark, 1, 0))
        return NULL;
    (void)tag_is_text(l, start->data.sequence_start.tag, start->start_mark);
    b = built_new(l, start->start_mark, YAML_LIST);
    if (!anchor_open(l, start->data.sequence_start.anchor, b))
        return NULL;
    while ((item = load_next(l, depth + 1, YAML_SEQUENCE_END_EVENT, &end, &plain)) != NULL)
        vec_push(&entries, ((struct yaml_entry){NULL, &item->node}));
    anchor_close(l, start->data.sequence_start.anchor, b);
    if (end)
        adopt_entries(l, b, &entries);
    vec_release(&entries);
    return end ? b : NULL;
}

/* --- maps ----------------------------------------------------------------------------------- */

/* Whether the node can be a key; reported when not. */
static bool check_key(struct loader *l, struct built *key, bool plain)
{
    /* As a key the word null is a word; but a node that an alias shares is a value elsewhere. */
    if (plain && key->node.kind == YAML_NULL && key->node.text.n > 0)
        key->node.kind = YAML_SCALAR;
    if (key->node.kind == YAML_SCALAR)
        return true;
    yaml_error(l->errors, &key->node, "%s as a key: expected text", yaml_kind_name(&key->node));
    return false;
}

static struct built *load_map(struct loader *l, const yaml_event_t *start, unsigned depth)
{
    struct built *b;
    struct built *key;
    yaml_entries written = {NULL, 0, 0};
    yaml_entries entries = {NULL, 0, 0};
    bool end = false;
    bool plain;

    if (!charge(l, start->start_mark, 1, 0))
        return NULL;
    (void)tag_is_text(l, start->data.mapping_start.tag, start->start_mark);
    b = built_new(l, start->start_mark, YAML_MAP);
    if (!anchor_open(l, start->data.mapping_start.anchor, b))
        return NULL;
    while ((key = load_next(l, depth + 1, YAML_MAPPING_END_EVENT, &end, &plain)) != NULL) {
        bool usable = check_key(l, key, plain);
        struct built *value = load_next(l, depth + 1, YAML_NO_EVENT, &end, &plain);

        if (!value)
            break;
        if (usable)
            vec_push(&written, ((struct yaml_entry){&key->node, &value->node}));
    }
    anchor_close(l, start->data.mapping_start.anchor, b);
    if (end) {
        yaml_merge(&written, l->errors, &entries);
        adopt_entries(l, b, &entries);
    }
    vec_release(&written);
    vec_release(&entries);
    return end ? b : NULL;
}

/* NULL when the text or a limit ends it all, which is then reported. */
static struct built *load_node(struct loader *l, const yaml_event_t *event, unsigned depth)
{
    if (!check_depth(l, event->start_mark, depth))
        return NULL;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return load_scalar(l, event);
    case YAML_ALIAS_EVENT:
        return load_alias(l, event, depth);
    case YAML_SEQUENCE_START_EVENT:
        return load_list(l, event, depth);
    case YAML_MAPPING_START_EVENT:
        return load_map(l, event, depth);
    default:
        return NULL;
    }
}

/* --- documents ------------------------------------------------------------------------------ */

/* Skips to the next event that begins a document or ends the stream; *type tells which. */
static bool next_document(struct loader *l, yaml_event_type_t *type, yaml_mark_t *mark)
{
    yaml_event_t event;

    do {
        if (!next_event(l, &event))
            return false;
        *type = event.type;
        *mark = event.start_mark;
        yaml_event_delete(&event);
    } while (*type != YAML_DOCUMENT_START_EVENT && *type != YAML_STREAM_END_EVENT);
    return true;
}

static void load_document(struct loader *l)
{
    yaml_event_type_t type;
    yaml_mark_t mark;
    struct built *root;
    bool end;
    bool plain;

    if (!next_document(l, &type, &mark))
        return;
    if (type == YAML_STREAM_END_EVENT) {
        memset(&mark, 0, sizeof mark);
        l->tree->root = &built_new(l, mark, YAML_NULL)->node;
        return;
    }
    root = load_next(l, 1, YAML_NO_EVENT, &end, &plain);
    if (!root || !next_document(l, &type, &mark))
        return;
    if (type != YAML_STREAM_END_EVENT) {
        ERROR_AT_MARK(l, mark, "a second document: expected one");
        l->unusable = true;
    }
    l->tree->root = &root->node;
}

/* Whether it is worth starting; reported when not. */
static bool check_size(struct view text, const char *file, struct yaml_errors *errors)
{
    if (text.n > YAML_MAX_BYTES) {
        yaml_error_at(errors, file, 0, 0, "%zu bytes: expected at most %d", text.n, YAML_MAX_BYTES);
        return false;
    }
    if (yaml_place_is_utf16(text) && text.n % 2 == 1) {
        struct yaml_place end = yaml_place_byte(text, text.n);

        yaml_error_at(errors, file, end.line, end.column, "half a character: expected UTF-16 text");
        return false;
    }
    return true;
}

struct yaml_tree *yaml_parse(struct view text, const char *file, struct yaml_errors *errors)
{
    struct loader l = {.text = text, .errors = errors};

    if (!check_size(text, file, errors))
        return NULL;
    if (!yaml_parser_initialize(&l.parser)) {
        yaml_error_at(errors, file, 0, 0, "no memory for the YAML parser");
        return NULL;
    }
    l.tree = xcalloc(1, sizeof *l.tree);
    l.tree->file = arena_copy(&l.tree->arena, view_of(file)).p;
    yaml_parser_set_input_string(&l.parser, (const unsigned char *)(text.n ? text.p : ""), text.n);
    load_document(&l);
    vec_release(&l.anchors);
    yaml_parser_delete(&l.parser);
    if (l.unusable) {
        yaml_tree_free(l.tree);
        return NULL;
    }
    assert(l.tree->root);
    return l.tree;
}

void yaml_tree_free(struct yaml_tree *tree)
{
    if (!tree)
        return;
    arena_release(&tree->arena);
    free(tree);
}

const struct yaml_node *yaml_root(const struct yaml_tree *tree)
{
    return tree->root;
}
