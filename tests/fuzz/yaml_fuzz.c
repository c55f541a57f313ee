/* Any bytes are a tree within the limits or at least one error; the typed reads take every node of
 * it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/yamltree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct walk {
    struct yaml_errors errors;
    size_t nodes;
    char *text;
};

static void read_scalar(struct walk *w, const struct yaml_node *node)
{
    static const char *const words[] = {"steps", "pool", "branches"};
    uint64_t number;
    size_t index;
    bool truth;

    if (yaml_read_text(node, &w->errors, &w->text))
        assert(strlen(w->text) == node->text.n);
    (void)yaml_read_bool(node, &w->errors, &truth);
    if (yaml_read_u64(node, &w->errors, 1, 64, &number))
        assert(number >= 1 && number <= 64);
    (void)yaml_read_duration(node, &w->errors, &number);
    (void)yaml_read_size(node, &w->errors, &number);
    if (yaml_read_word(node, &w->errors, words, 3, &index))
        assert(index < 3);
    (void)yaml_check_keys(node, &w->errors, "a thing", words, 3);
}

static void visit(struct walk *w, const struct yaml_node *node, unsigned depth)
{
    assert(depth <= YAML_MAX_DEPTH);
    w->nodes++;
    assert(w->nodes <= YAML_MAX_NODES);
    assert(node->line > 0 && node->column > 0 && node->text.p);
    if (w->nodes < 1000)
        read_scalar(w, node);
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_entry *entry = &node->entries[i];

        assert((node->kind == YAML_MAP) == (entry->key != NULL));
        assert(!entry->key || entry->key->kind == YAML_SCALAR);
        visit(w, entry->value, depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct walk w = {.text = NULL};
    struct yaml_tree *tree = yaml_parse(view_bytes(data, size), "fuzz", &w.errors);

    assert(tree || w.errors.v.n > 0);
    if (tree)
        visit(&w, yaml_root(tree), 1);
    for (size_t i = 0; i < w.errors.v.n; i++)
        assert(strncmp(w.errors.v.v[i], "fuzz:", 5) == 0);
    yaml_tree_free(tree);
    yaml_errors_release(&w.errors);
    free(w.text);
    return 0;
}
