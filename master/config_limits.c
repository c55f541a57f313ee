/* What one START can carry of a builder: a builder over these limits could never be handed to a
 * slave. */
#include <string.h>

#include "master/config_private.h"
#include "proto/frame.h"

/* As messages.def has them. */
enum {
    TEXT_MOST = 65536, /* a command, an argument, a variable's value */
    DIR_MOST = 4096,
    GIT_MOST = 4096,
    ARGUMENTS_MOST = 1024,
    VARIABLES_MOST = 256,
};

/* What scan.h lets a body hold, and what a frame does, less what START says beside the steps:
 * branch, revision, the page's address. */
enum {
    VALUES_MOST = 65536 - 256,
    BYTES_MOST = FRAME_MAX_BYTES - 8192,
    VALUE_BYTES = 9, /* of any number, or before any text, at most */
    STEP_VALUES = 18,
};

struct load {
    struct loader *loader;
    const struct yaml_node *at; /* the builder's name */
    const struct config_builder *builder;
    uint64_t bytes, values;
};

static void add_text(struct load *load, const char *what, const char *text, size_t most)
{
    size_t n = text ? strlen(text) : 0;

    if (n > most)
        yaml_error(load->loader->errors, load->at, "builder %s: %s of %zu bytes, at most %zu",
                   load->builder->name, what, n, most);
    load->bytes += n + VALUE_BYTES;
    load->values++;
}

static void add_count(struct load *load, const char *what, size_t n, size_t most)
{
    if (n > most)
        yaml_error(load->loader->errors, load->at, "builder %s: %zu %s, at most %zu",
                   load->builder->name, n, what, most);
}

static void add_env(struct load *load, const config_env_list *env)
{
    add_count(load, "variables in one env", env->n, VARIABLES_MOST);
    for (size_t i = 0; i < env->n; i++) {
        load->values++; /* the pair; load_env() has looked at the name */
        add_text(load, "a variable's name", env->v[i].name, TEXT_MOST);
        add_text(load, "a variable's value", env->v[i].value, TEXT_MOST);
    }
}

static void add_step(struct load *load, const struct config_step *step)
{
    load->values += STEP_VALUES;
    load->bytes += STEP_VALUES * VALUE_BYTES;
    add_text(load, "a command", step->shell, TEXT_MOST);
    add_text(load, "dir", step->dir, DIR_MOST);
    add_count(load, "arguments of one command", step->argv.n, ARGUMENTS_MOST);
    for (size_t i = 0; i < step->argv.n; i++)
        add_text(load, "an argument", step->argv.v[i], TEXT_MOST);
    add_env(load, &step->env);
}

void load_limits(struct loader *loader, const struct yaml_node *key,
                 const struct config_builder *builder)
{
    struct load load = {.loader = loader, .at = key, .builder = builder};

    if (builder->project)
        add_text(&load, "its project's git", builder->project->git, GIT_MOST);
    add_env(&load, &builder->env);
    for (size_t i = 0; i < builder->steps.n; i++)
        add_step(&load, &builder->steps.v[i]);
    if (load.bytes > BYTES_MOST || load.values > VALUES_MOST)
        yaml_error(loader->errors, key,
                   "builder %s: its steps are too much for one message to a slave: put long "
                   "commands into scripts in the repository",
                   builder->name);
}
