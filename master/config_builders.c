/* The section builders, and what only can be checked once all is read. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "master/config_private.h"

static const char *const builder_keys[] = {"project",    "pool",     "after",       "branches",
                                           "needs",      "priority", "max_running", "max_attempts",
                                           "lost_after", "env",      "steps"};
static const char *const priority_words[] = {"high", "normal", "low"};

#define KEYS(list) (list), sizeof(list) / sizeof *(list)

/* A named thing that a builder refers to. names: all there are. */
static const char *nearest(const char *name, void *table, char *(*next)(void **table))
{
    VEC(const char *) known = {0};
    const char *found;
    char *word;

    while ((word = next(&table)))
        vec_push(&known, word);
    found = text_nearest(view_of(name), known.v, known.n);
    vec_release(&known);
    return found;
}

static char *next_pool(void **table)
{
    struct config_pool *pool = *table;

    *table = pool ? pool->hh.next : NULL;
    return pool ? pool->name : NULL;
}

static char *next_project(void **table)
{
    struct config_project *project = *table;

    *table = project ? project->hh.next : NULL;
    return project ? project->name : NULL;
}

static char *next_builder(void **table)
{
    struct config_builder *builder = *table;

    *table = builder ? builder->hh.next : NULL;
    return builder ? builder->name : NULL;
}

static void no_such(struct loader *loader, const struct yaml_node *node, const char *what,
                    const char *name, const char *near)
{
    if (near)
        yaml_error(loader->errors, node, "there is no %s %s: did you mean %s?", what, name, near);
    else
        yaml_error(loader->errors, node, "there is no %s %s: expected one of those under `%ss`",
                   what, name, what);
}

static void read_project(struct loader *loader, const struct yaml_node *node,
                         const struct yaml_node *where, struct config_builder *builder)
{
    char *name = NULL;

    if (!node)
        yaml_error(loader->errors, where, "builder %s has no project", builder->name);
    if (!node || !yaml_read_text(node, loader->errors, &name))
        return;
    builder->project = config_find_project(loader->config, name);
    if (!builder->project)
        no_such(loader, node, "project", name,
                nearest(name, loader->config->projects, next_project));
    free(name);
}

static void read_pool(struct loader *loader, const struct yaml_node *node,
                      const struct yaml_node *where, struct config_builder *builder)
{
    char *name = NULL;

    if (!node)
        yaml_error(loader->errors, where, "builder %s has no pool", builder->name);
    if (!node || !yaml_read_text(node, loader->errors, &name))
        return;
    builder->pool = config_find_pool(loader->config, name);
    if (!builder->pool)
        no_such(loader, node, "pool", name, nearest(name, loader->config->pools, next_pool));
    free(name);
}

static void read_numbers(struct loader *loader, const struct yaml_node *map,
                         struct config_builder *builder)
{
    const struct yaml_node *node;
    uint64_t number;
    size_t word;

    builder->priority = PRIORITY_NORMAL;
    builder->max_attempts = loader->config->max_attempts;
    builder->lost_after_ms = loader->config->lost_after_ms;
    if ((node = yaml_get(map, "priority")) &&
        yaml_read_word(node, loader->errors, KEYS(priority_words), &word))
        builder->priority = (enum priority)word;
    if ((node = yaml_get(map, "max_running")) &&
        yaml_read_u64(node, loader->errors, 1, 100000, &number))
        builder->max_running = (uint32_t)number;
    if ((node = yaml_get(map, "max_attempts")) &&
        yaml_read_u64(node, loader->errors, 1, 100, &number))
        builder->max_attempts = (uint32_t)number;
    if ((node = yaml_get(map, "lost_after")))
        (void)yaml_read_duration(node, loader->errors, &builder->lost_after_ms);
}

static void load_builder(struct loader *loader, const struct yaml_node *key,
                         const struct yaml_node *value)
{
    struct config_builder *builder;
    const struct yaml_node *node;
    char *name = view_dup(key->text);

    if (!load_name(loader, key, "builder") ||
        !load_unique(loader, key, "builder", config_find_builder(loader->config, name) != NULL)) {
        free(name);
        return;
    }
    builder = xcalloc(1, sizeof *builder);
    builder->name = name;
    builder->line = key->line;
    load_digest(value, "", builder->digest);
    HASH_ADD_KEYPTR(hh, loader->config->builders, builder->name, strlen(name), builder);
    if (!yaml_check_keys(value, loader->errors, "a builder", KEYS(builder_keys)))
        return;
    read_project(loader, yaml_get(value, "project"), key, builder);
    read_pool(loader, yaml_get(value, "pool"), key, builder);
    if ((node = yaml_get(value, "branches")))
        load_branches(loader, node, &builder->branches);
    load_labels(loader, yaml_get(value, "needs"), &builder->needs);
    load_env(loader, yaml_get(value, "env"), &builder->env);
    read_numbers(loader, value, builder);
    load_steps(loader, builder, yaml_get(value, "steps"), key);
    load_limits(loader, key, builder);
}

static void link_after(struct loader *loader, const struct yaml_node *node,
                       struct config_builder *builder)
{
    text_list names = {0};

    (void)load_texts(loader, node, &names);
    for (size_t i = 0; i < names.n; i++) {
        const struct yaml_node *at = node->kind == YAML_LIST ? node->entries[i].value : node;
        const struct config_builder *first = config_find_builder(loader->config, names.v[i]);

        if (!first)
            no_such(loader, at, "builder", names.v[i],
                    nearest(names.v[i], loader->config->builders, next_builder));
        else if (first->project && builder->project && first->project != builder->project)
            yaml_error(loader->errors, at,
                       "%s cannot come after %s: that builds project %s, and this project %s",
                       builder->name, first->name, first->project->name, builder->project->name);
        else
            vec_push(&builder->after, first);
    }
    text_list_release(&names);
}

/* Whether all that comes before the builder is settled. */
static bool can_settle(const struct config_builder *builder)
{
    for (size_t i = 0; i < builder->after.n; i++) {
        if (!builder->after.v[i]->settled)
            return false;
    }
    return true;
}

static const struct config_builder *unsettled_before(const struct config_builder *builder)
{
    for (size_t i = 0; i < builder->after.n; i++) {
        if (!builder->after.v[i]->settled)
            return builder->after.v[i];
    }
    return builder;
}

/* A builder that waits for itself, or NULL: settles whatever waits for settled ones only, until
 * nothing moves; what is left waits for a cycle, and going back from it often enough ends on one.
 */
static const struct config_builder *find_cycle(struct config *config)
{
    struct config_builder *builder, *next;
    const struct config_builder *left;
    bool moved = true;

    while (moved) {
        moved = false;
        left = NULL;
        HASH_ITER (hh, config->builders, builder, next) {
            if (!builder->settled && can_settle(builder))
                builder->settled = moved = true;
            else if (!builder->settled)
                left = builder;
        }
    }
    for (unsigned i = 0; left && i < HASH_COUNT(config->builders); i++)
        left = unsettled_before(left);
    return left;
}

/* "a comes after b comes after a", at the `after` of a. */
static void check_cycle(struct loader *loader, const struct config_builder *cycle)
{
    struct str words = STR_INIT(1 << 20);
    const struct config_builder *at = cycle;
    const struct yaml_node **section;

    str_put(&words, cycle->name);
    do {
        at = unsettled_before(at);
        str_printf(&words, " comes after %s", at->name);
    } while (at != cycle && words.n < 300);
    VEC_FOREACH (&loader->sections[SECTION_BUILDERS], section) {
        const struct yaml_node *value = yaml_get(*section, cycle->name);

        if (value) {
            yaml_error(loader->errors, yaml_get(value, "after"), "%s: nothing could ever start",
                       str_cstr(&words));
            break;
        }
    }
    str_release(&words);
}

static bool slave_serves(const struct config_slave *slave, const struct config_builder *builder)
{
    bool in_pool = false;

    for (size_t i = 0; i < slave->pools.n; i++)
        in_pool = in_pool || strcmp(slave->pools.v[i], builder->pool->name) == 0;
    for (size_t i = 0; in_pool && i < builder->needs.n; i++) {
        bool has = false;

        for (size_t k = 0; k < slave->labels.n; k++)
            has = has || strcmp(slave->labels.v[k], builder->needs.v[i]) == 0;
        in_pool = has;
    }
    return in_pool;
}

static void check_reachable(struct loader *loader, const struct yaml_node *key,
                            const struct config_builder *builder)
{
    struct config_slave *slave, *next;

    if (!builder->pool)
        return;
    HASH_ITER (hh, loader->config->slaves, slave, next) {
        if (slave_serves(slave, builder))
            return;
    }
    yaml_error(loader->errors, key, "builder %s can never run: no slave is in pool %s%s",
               builder->name, builder->pool->name,
               builder->needs.n ? " with all the labels that it needs" : "");
}

static void check_builder(struct loader *loader, const struct yaml_node *key)
{
    char *name = view_dup(key->text);
    struct config_builder *builder;

    HASH_FIND_STR(loader->config->builders, name, builder);
    free(name);
    if (!builder || builder->line != key->line)
        return;
    check_reachable(loader, key, builder);
}

void load_builders(struct loader *loader)
{
    const struct config_builder *cycle;
    const struct yaml_node **section;

    VEC_FOREACH (&loader->sections[SECTION_BUILDERS], section) {
        for (size_t i = 0; i < (*section)->n; i++)
            load_builder(loader, (*section)->entries[i].key, (*section)->entries[i].value);
    }
    VEC_FOREACH (&loader->sections[SECTION_BUILDERS], section) {
        for (size_t i = 0; i < (*section)->n; i++) {
            const struct yaml_node *after = yaml_get((*section)->entries[i].value, "after");
            char *name = view_dup((*section)->entries[i].key->text);
            struct config_builder *builder;

            HASH_FIND_STR(loader->config->builders, name, builder);
            if (after && builder && builder->after.n == 0)
                link_after(loader, after, builder);
            free(name);
        }
    }
    VEC_FOREACH (&loader->sections[SECTION_BUILDERS], section) {
        for (size_t i = 0; i < (*section)->n; i++)
            check_builder(loader, (*section)->entries[i].key);
    }
    cycle = find_cycle(loader->config);
    if (cycle)
        check_cycle(loader, cycle);
}
