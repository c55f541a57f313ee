#include "common/base/yamlmerge.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

enum { SHOWN_MAX = 60 };

/* An entry on its way into a map. */
struct candidate {
    struct yaml_entry entry;
    size_t order;                  /* explicit keys come before merged ones */
    const struct candidate *first; /* the one that has this key already */
};

typedef VEC(struct candidate) candidate_list;

int yaml_compare(struct view a, struct view b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;

    return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare_candidates(const void *pa, const void *pb)
{
    const struct candidate *a = pa;
    const struct candidate *b = pb;
    int order = yaml_compare(a->entry.key->text, b->entry.key->text);

    return order ? order : (a->order > b->order) - (a->order < b->order);
}

/* Sets `first` where an earlier candidate has the same key. Sorted: a map may have 100,000 keys. */
static void find_duplicates(const candidate_list *all)
{
    struct candidate *sorted = xmemdup(all->v, all->n * sizeof *all->v);
    size_t first = 0; /* of the equal ones */

    qsort(sorted, all->n, sizeof *sorted, compare_candidates);
    for (size_t i = 1; i < all->n; i++) {
        if (yaml_compare(sorted[first].entry.key->text, sorted[i].entry.key->text) == 0)
            all->v[sorted[i].order].first = &all->v[sorted[first].order];
        else
            first = i;
    }
    free(sorted);
}

static void report_duplicate(struct yaml_errors *errors, const struct candidate *c)
{
    struct str shown = STR_INIT(4 * SHOWN_MAX);

    text_escape(&shown, c->entry.key->text, SHOWN_MAX);
    yaml_error(errors, c->entry.key, "duplicate key '%s': already given at line %u, column %u",
               str_cstr(&shown), c->first->entry.key->line, c->first->entry.key->column);
    str_release(&shown);
}

static bool is_merge_key(const struct yaml_node *key)
{
    return !key->quoted && view_is(key->text, "<<");
}

static void add_candidate(candidate_list *all, struct yaml_entry entry)
{
    struct candidate c = {entry, all->n, NULL};

    vec_push(all, c);
}

/* Appends what stands under "<<": the entries of a map, or of each map of a list. */
static void add_merged(candidate_list *all, const struct yaml_node *from,
                       struct yaml_errors *errors)
{
    bool list = from->kind == YAML_LIST;

    for (size_t i = 0; i < (list ? from->n : 1); i++) {
        const struct yaml_node *map = list ? from->entries[i].value : from;

        if (map->kind != YAML_MAP) {
            yaml_error(errors, map, "%s under '<<': expected a mapping or a list of mappings",
                       yaml_kind_name(map));
            continue;
        }
        for (size_t k = 0; k < map->n; k++)
            add_candidate(all, map->entries[k]);
    }
}

void yaml_merge(const yaml_entries *written, struct yaml_errors *errors, yaml_entries *out)
{
    candidate_list all = {NULL, 0, 0};

    for (size_t i = 0; i < written->n; i++)
        add_candidate(&all, written->v[i]);
    for (size_t i = 0; i < written->n; i++) {
        if (is_merge_key(written->v[i].key))
            add_merged(&all, written->v[i].value, errors);
    }
    find_duplicates(&all);
    for (size_t i = 0; i < all.n; i++) {
        const struct candidate *c = &all.v[i];

        if (c->first && i < written->n)
            report_duplicate(errors, c);
        else if (!c->first && !(i < written->n && is_merge_key(c->entry.key)))
            vec_push(out, c->entry);
    }
    vec_release(&all);
}
