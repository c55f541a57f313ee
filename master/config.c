#include "master/config.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "master/config_private.h"

void config_globs_release(glob_list *globs)
{
    for (size_t i = 0; i < globs->n; i++)
        glob_free(globs->v[i]);
    vec_release(globs);
}

void config_env_release(config_env_list *env)
{
    for (size_t i = 0; i < env->n; i++) {
        free(env->v[i].name);
        free(env->v[i].value);
    }
    vec_release(env);
}

void config_step_release(struct config_step *step)
{
    free(step->name);
    free(step->shell);
    free(step->dir);
    text_list_release(&step->argv);
    config_env_release(&step->env);
}

static void builder_free(struct config_builder *builder)
{
    free(builder->name);
    vec_release(&builder->after);
    config_globs_release(&builder->branches);
    text_list_release(&builder->needs);
    config_env_release(&builder->env);
    for (size_t i = 0; i < builder->steps.n; i++)
        config_step_release(&builder->steps.v[i]);
    vec_release(&builder->steps);
    free(builder);
}

static void project_free(struct config_project *project)
{
    free(project->name);
    free(project->git);
    config_globs_release(&project->branches);
    free(project);
}

static void slave_free(struct config_slave *slave)
{
    free(slave->name);
    text_list_release(&slave->pools);
    text_list_release(&slave->labels);
    free(slave->secret_file);
    text_list_release(&slave->secrets);
    free(slave);
}

static void config_free(struct config *config)
{
    struct config_builder *builder, *next_builder;
    struct config_project *project, *next_project;
    struct config_pool *pool, *next_pool;
    struct config_slave *slave, *next_slave;

    HASH_ITER (hh, config->builders, builder, next_builder) {
        HASH_DEL(config->builders, builder);
        builder_free(builder);
    }
    HASH_ITER (hh, config->projects, project, next_project) {
        HASH_DEL(config->projects, project);
        project_free(project);
    }
    HASH_ITER (hh, config->pools, pool, next_pool) {
        HASH_DEL(config->pools, pool);
        free(pool->name);
        free(pool);
    }
    HASH_ITER (hh, config->slaves, slave, next_slave) {
        HASH_DEL(config->slaves, slave);
        slave_free(slave);
    }
    text_list_release(&config->tokens);
    free(config->path);
    free(config->title);
    free(config->listen);
    free(config->web);
    free(config->url);
    free(config->data);
    free(config);
}

struct config *config_ref(struct config *config)
{
    atomic_fetch_add(&config->refs, 1);
    return config;
}

void config_unref(struct config **config)
{
    if (*config && atomic_fetch_sub(&(*config)->refs, 1) == 1)
        config_free(*config);
    *config = NULL;
}

const struct config_builder *config_find_builder(const struct config *config, const char *name)
{
    struct config_builder *found;

    HASH_FIND_STR(config->builders, name, found);
    return found;
}

const struct config_project *config_find_project(const struct config *config, const char *name)
{
    struct config_project *found;

    HASH_FIND_STR(config->projects, name, found);
    return found;
}

const struct config_pool *config_find_pool(const struct config *config, const char *name)
{
    struct config_pool *found;

    HASH_FIND_STR(config->pools, name, found);
    return found;
}

const struct config_slave *config_find_slave(const struct config *config, const char *name)
{
    struct config_slave *found;

    HASH_FIND_STR(config->slaves, name, found);
    return found;
}

bool config_builds_branch(const struct config_builder *builder, const char *branch)
{
    size_t n = builder->branches.n ? builder->branches.n : builder->project->branches.n;
    struct glob *const *globs =
        builder->branches.n ? builder->branches.v : builder->project->branches.v;

    for (size_t i = 0; i < n; i++) {
        if (glob_match(globs[i], view_of(branch)))
            return true;
    }
    return false;
}

const char *config_default_branch(const struct config_project *project)
{
    for (size_t i = 0; i < project->branches.n; i++) {
        if (glob_is_literal(project->branches.v[i]))
            return glob_text(project->branches.v[i]);
    }
    return NULL;
}
