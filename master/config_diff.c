/* Two configurations compared, and one told. */
#include <string.h>

#include "common/base/mem.h"
#include "master/config.h"

/* What all four kinds of named things share, as they are walked. */
struct item {
    const char *name;
    const char *digest;
};

typedef const struct item *(*item_find)(const struct config *config, const char *name,
                                        struct item *out);
typedef bool (*item_walk)(const struct config *config, void **at, struct item *out);

#define ITEM_WALK(kind)                                                                            \
    static bool walk_##kind(const struct config *config, void **at, struct item *out)              \
    {                                                                                              \
        struct config_##kind *thing =                                                              \
            *at ? ((struct config_##kind *)*at)->hh.next : config->kind##s;                        \
                                                                                                   \
        *at = thing;                                                                               \
        if (thing)                                                                                 \
            *out = (struct item){thing->name, thing->digest};                                      \
        return thing != NULL;                                                                      \
    }                                                                                              \
    static const struct item *find_##kind(const struct config *config, const char *name,           \
                                          struct item *out)                                        \
    {                                                                                              \
        const struct config_##kind *thing = config_find_##kind(config, name);                      \
                                                                                                   \
        if (!thing)                                                                                \
            return NULL;                                                                           \
        *out = (struct item){thing->name, thing->digest};                                          \
        return out;                                                                                \
    }

ITEM_WALK(pool)
ITEM_WALK(project)
ITEM_WALK(builder)
ITEM_WALK(slave)

static void diff_kind(const char *word, item_walk walk, item_find find, const struct config *from,
                      const struct config *to, text_list *lists[3])
{
    struct item item, other;
    void *at = NULL;

    while (walk(to, &at, &item)) {
        if (!find(from, item.name, &other))
            vec_push(lists[0], xasprintf("%s %s", word, item.name));
        else if (strcmp(item.digest, other.digest) != 0)
            vec_push(lists[1], xasprintf("%s %s", word, item.name));
    }
    while (walk(from, &at, &item)) {
        if (!find(to, item.name, &other))
            vec_push(lists[2], xasprintf("%s %s", word, item.name));
    }
}

static void diff_master(const struct config *from, const struct config *to, text_list *changed)
{
    bool same_tokens = from->tokens.n == to->tokens.n;

    for (size_t i = 0; same_tokens && i < to->tokens.n; i++)
        same_tokens = strcmp(from->tokens.v[i], to->tokens.v[i]) == 0;
    if (strcmp(from->title, to->title) != 0 || !same_tokens ||
        from->lost_after_ms != to->lost_after_ms ||
        from->start_timeout_ms != to->start_timeout_ms ||
        from->dependency_timeout_ms != to->dependency_timeout_ms ||
        from->ping_after_ms != to->ping_after_ms || from->drop_after_ms != to->drop_after_ms ||
        from->max_attempts != to->max_attempts)
        vec_push(changed, xstrdup("master"));
}

void config_diff(const struct config *from, const struct config *to, text_list *added,
                 text_list *changed, text_list *removed)
{
    text_list *lists[3] = {added, changed, removed};

    diff_master(from, to, changed);
    diff_kind("pool", walk_pool, find_pool, from, to, lists);
    diff_kind("project", walk_project, find_project, from, to, lists);
    diff_kind("builder", walk_builder, find_builder, from, to, lists);
    diff_kind("slave", walk_slave, find_slave, from, to, lists);
}

static void tell_builder(const struct config_builder *builder, struct str *out)
{
    str_printf(out, "  builder %-20s pool %s", builder->name, builder->pool->name);
    for (size_t i = 0; i < builder->after.n; i++)
        str_printf(out, "%s%s", i ? ", " : ", after ", builder->after.v[i]->name);
    for (size_t i = 0; i < builder->branches.n; i++)
        str_printf(out, "%s%s", i ? " " : ", branches ", glob_text(builder->branches.v[i]));
    str_put(out, ":");
    for (size_t i = 0; i < builder->steps.n; i++)
        str_printf(out, "%s%s", i ? ", " : " ", builder->steps.v[i].name);
    str_putc(out, '\n');
}

static void tell_project(const struct config *config, const struct config_project *project,
                         struct str *out)
{
    struct config_builder *builder, *next;
    char shown[TEXT_SHORT_MAX];

    str_printf(out, "project %s (%s", project->name, project->git);
    if (project->poll_ms)
        str_printf(out, ", looked at every %s", text_show_duration(project->poll_ms, shown));
    str_put(out, "), branches");
    for (size_t i = 0; i < project->branches.n; i++)
        str_printf(out, " %s", glob_text(project->branches.v[i]));
    str_putc(out, '\n');
    HASH_ITER (hh, config->builders, builder, next) {
        if (builder->project == project)
            tell_builder(builder, out);
    }
}

static void tell_pool(const struct config *config, const struct config_pool *pool, struct str *out)
{
    struct config_slave *slave, *next;
    unsigned n = 0;

    str_printf(out, "pool %s%s:", pool->name, pool->backlog_latest ? " (latest only)" : "");
    HASH_ITER (hh, config->slaves, slave, next) {
        for (size_t i = 0; i < slave->pools.n; i++) {
            if (strcmp(slave->pools.v[i], pool->name) != 0)
                continue;
            if (n++ < 8)
                str_printf(out, " %s", slave->name);
        }
    }
    if (n > 8)
        str_printf(out, " and %u more", n - 8);
    str_put(out, n ? "\n" : " no slaves\n");
}

static const char *plural(unsigned n)
{
    return n == 1 ? "" : "s";
}

void config_summary(const struct config *config, struct str *out)
{
    unsigned builders = HASH_COUNT(config->builders), projects = HASH_COUNT(config->projects);
    unsigned pools = HASH_COUNT(config->pools), slaves = HASH_COUNT(config->slaves);
    struct config_project *project, *next_project;
    struct config_pool *pool, *next_pool;

    str_printf(out, "%s: %u project%s, %u builder%s, %u pool%s, %u slave%s\n", config->path,
               projects, plural(projects), builders, plural(builders), pools, plural(pools), slaves,
               plural(slaves));
    HASH_ITER (hh, config->projects, project, next_project) {
        tell_project(config, project, out);
    }
    HASH_ITER (hh, config->pools, pool, next_pool) {
        tell_pool(config, pool, out);
    }
}
