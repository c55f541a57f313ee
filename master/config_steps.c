/* The steps of a builder. */
#include <stdlib.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/mem.h"
#include "master/config_private.h"

static const char *const step_keys[] = {
    "checkout",     "build",  "test",       "benchmark", "name",   "dir",   "env",        "timeout",
    "idle_timeout", "always", "on_failure", "log_limit", "stderr", "grace", "iterations", "warmup"};
static const char *const kind_words[] = {"checkout", "build", "test", "benchmark"};
static const char *const policy_words[] = {"stop", "continue", "warn"};
static const char *const stderr_words[] = {"merged", "separate"};
static const char *const checkout_keys[] = {"submodules", "clean"};

enum { ITERATIONS_MOST = 1000 };

#define KEYS(list) (list), sizeof(list) / sizeof *(list)

static void step_defaults(struct config_step *step)
{
    step->timeout_ms = 3600 * 1000;
    step->idle_timeout_ms = 20 * 60 * 1000;
    step->grace_ms = 10 * 1000;
    step->log_limit = 200ull << 20;
    step->iterations = 5;
    step->warmup = 1;
}

static void read_command(struct loader *loader, const struct yaml_node *node,
                         struct config_step *step)
{
    if (node->kind == YAML_LIST) {
        (void)load_texts(loader, node, &step->argv);
        if (step->argv.n == 0 || step->argv.v[0][0] == '\0')
            yaml_error(loader->errors, node,
                       "a command without a program: expected [PROGRAM, ARGUMENT...]");
    } else if (node->kind != YAML_SCALAR) {
        yaml_error(loader->errors, node,
                   "%s: expected a command, as text for /bin/sh or as a list of arguments",
                   yaml_kind_name(node));
    } else if (yaml_read_text(node, loader->errors, &step->shell)) {
        if (strspn(step->shell, " \t\n") == strlen(step->shell))
            yaml_error(loader->errors, node, "an empty command");
        else if (strlen(step->shell) >= 65536)
            yaml_error(loader->errors, node, "a command of %zu bytes, at most 65535",
                       strlen(step->shell));
    }
}

static void read_checkout(struct loader *loader, const struct yaml_node *node,
                          struct config_step *step)
{
    const struct yaml_node *value;
    bool clean = true;

    if (node->kind == YAML_NULL)
        return;
    if (!yaml_check_keys(node, loader->errors, "checkout", KEYS(checkout_keys)))
        return;
    if ((value = yaml_get(node, "submodules")))
        (void)yaml_read_bool(value, loader->errors, &step->submodules);
    if ((value = yaml_get(node, "clean")) && yaml_read_bool(value, loader->errors, &clean))
        step->keep_tree = !clean;
}

static void read_dir(struct loader *loader, const struct yaml_node *node, struct config_step *step)
{
    const char *p;

    if (!node || !yaml_read_text(node, loader->errors, &step->dir))
        return;
    if (step->dir[0] == '/')
        yaml_error(loader->errors, node,
                   "dir: %s is absolute: expected a path in the source folder", step->dir);
    for (p = step->dir; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == '\0')) {
            yaml_error(loader->errors, node, "dir: %s leaves the source folder", step->dir);
            break;
        }
    }
}

static void read_limits(struct loader *loader, const struct yaml_node *map,
                        struct config_step *step)
{
    const struct yaml_node *node;
    uint64_t number;

    if ((node = yaml_get(map, "timeout")))
        (void)yaml_read_duration(node, loader->errors, &step->timeout_ms);
    if ((node = yaml_get(map, "idle_timeout")))
        (void)yaml_read_duration(node, loader->errors, &step->idle_timeout_ms);
    if ((node = yaml_get(map, "grace")))
        (void)yaml_read_duration(node, loader->errors, &step->grace_ms);
    if ((node = yaml_get(map, "log_limit")))
        (void)yaml_read_size(node, loader->errors, &step->log_limit);
    if ((node = yaml_get(map, "iterations"))) {
        if (step->kind != STEP_BENCHMARK)
            yaml_error(loader->errors, node, "iterations: only a benchmark step has them");
        else if (yaml_read_u64(node, loader->errors, 1, ITERATIONS_MOST, &number))
            step->iterations = (uint32_t)number;
    }
    if ((node = yaml_get(map, "warmup"))) {
        if (step->kind != STEP_BENCHMARK)
            yaml_error(loader->errors, node, "warmup: only a benchmark step has it");
        else if (yaml_read_u64(node, loader->errors, 0, ITERATIONS_MOST, &number))
            step->warmup = (uint32_t)number;
    }
}

static void read_options(struct loader *loader, const struct yaml_node *map,
                         struct config_step *step)
{
    const struct yaml_node *node;
    size_t word;

    read_dir(loader, yaml_get(map, "dir"), step);
    load_env(loader, yaml_get(map, "env"), &step->env);
    read_limits(loader, map, step);
    if ((node = yaml_get(map, "always")))
        (void)yaml_read_bool(node, loader->errors, &step->always);
    if ((node = yaml_get(map, "on_failure")) &&
        yaml_read_word(node, loader->errors, KEYS(policy_words), &word))
        step->on_failure = (enum step_policy)word;
    if ((node = yaml_get(map, "stderr")) &&
        yaml_read_word(node, loader->errors, KEYS(stderr_words), &word))
        step->separate_stderr = word == 1;
    if ((node = yaml_get(map, "name"))) {
        (void)yaml_read_text(node, loader->errors, &step->name);
        (void)load_name(loader, node, "step");
    }
}

/* A step written as a mapping: exactly one of its keys says the kind. */
static bool read_step_map(struct loader *loader, const struct yaml_node *map,
                          struct config_step *step)
{
    const struct yaml_node *command = NULL;

    if (!yaml_check_keys(map, loader->errors, "a step", KEYS(step_keys)))
        return false;
    for (size_t i = 0; i < sizeof kind_words / sizeof *kind_words; i++) {
        const struct yaml_node *node = yaml_get(map, kind_words[i]);

        if (!node)
            continue;
        if (command) {
            yaml_error(loader->errors, node, "a step is of one kind: expected %s or %s, not both",
                       step_kind_name(step->kind), kind_words[i]);
            return false;
        }
        command = node;
        step->kind = step_kind_of_name(kind_words[i]);
    }
    if (!command) {
        yaml_error(loader->errors, map,
                   "a step without a kind: expected checkout, build, test or benchmark");
        return false;
    }
    if (step->kind == STEP_CHECKOUT)
        read_checkout(loader, command, step);
    else
        read_command(loader, command, step);
    read_options(loader, map, step);
    return true;
}

static bool read_step(struct loader *loader, const struct yaml_node *node, struct config_step *step)
{
    step_defaults(step);
    if (node->kind == YAML_SCALAR && view_is(node->text, "checkout")) {
        step->kind = STEP_CHECKOUT;
        return true;
    }
    if (node->kind == YAML_SCALAR) {
        yaml_error(loader->errors, node,
                   "\"%.*s\": expected checkout, or a mapping such as `build: make`",
                   VIEW_ARG(node->text));
        return false;
    }
    if (node->kind != YAML_MAP) {
        yaml_error(loader->errors, node, "a step is %s: expected a mapping such as `build: make`",
                   yaml_kind_name(node));
        return false;
    }
    return read_step_map(loader, node, step);
}

static const struct config_step *step_named(const struct config_builder *builder, const char *name)
{
    for (size_t i = 0; i < builder->steps.n; i++) {
        if (builder->steps.v[i].name && strcmp(builder->steps.v[i].name, name) == 0)
            return &builder->steps.v[i];
    }
    return NULL;
}

/* Given names stay; a step without one is called by its kind, and a number when that is taken. */
static void name_steps(struct config_builder *builder)
{
    for (size_t i = 0; i < builder->steps.n; i++) {
        struct config_step *step = &builder->steps.v[i];
        char *name;

        if (step->name)
            continue;
        name = xstrdup(step_kind_name(step->kind));
        for (unsigned k = 2; step_named(builder, name); k++) {
            free(name);
            name = xasprintf("%s-%u", step_kind_name(step->kind), k);
        }
        step->name = name;
    }
}

void load_steps(struct loader *loader, struct config_builder *builder, const struct yaml_node *node,
                const struct yaml_node *where)
{
    if (!node || (node->kind == YAML_LIST && node->n == 0) || node->kind == YAML_NULL) {
        yaml_error(loader->errors, node ? node : where, "builder %s has no steps", builder->name);
        return;
    }
    if (node->kind != YAML_LIST) {
        yaml_error(loader->errors, node, "steps is %s: expected a list", yaml_kind_name(node));
        return;
    }
    if (node->n > CONFIG_MAX_STEPS) {
        yaml_error(loader->errors, node, "%zu steps, at most %d", node->n, CONFIG_MAX_STEPS);
        return;
    }
    for (size_t i = 0; i < node->n; i++) {
        struct config_step step = {0};

        if (!read_step(loader, node->entries[i].value, &step)) {
            config_step_release(&step);
            continue;
        }
        if (step.name && step_named(builder, step.name))
            yaml_error(loader->errors, node->entries[i].value,
                       "a second step named %s: expected a name of its own", step.name);
        vec_push(&builder->steps, step);
    }
    name_steps(builder);
}
