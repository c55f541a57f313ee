/*
 * What the files of config share while one configuration is being loaded.
 */
#ifndef TAILRACE_MASTER_CONFIG_PRIVATE_H
#define TAILRACE_MASTER_CONFIG_PRIVATE_H

#include "master/config.h"

enum config_section {
    SECTION_SLAVES,
    SECTION_POOLS,
    SECTION_PROJECTS,
    SECTION_BUILDERS,
    SECTION_COUNT
};

enum {
    CONFIG_MAX_FILES = 64,
    CONFIG_MAX_SLAVES = 20000,
    CONFIG_MAX_STEPS = 256, /* as messages.def has it */
};

struct loader {
    struct config *config;
    struct yaml_errors *errors;
    VEC(struct yaml_tree *) trees;
    VEC(char *) files; /* absolute, as opened */
    const struct yaml_node *master;
    VEC(const struct yaml_node *) sections[SECTION_COUNT]; /* the same section of several files */
};

/* One phase each; errors are collected, and each goes on as far as it can. */
void load_master(struct loader *loader);
void load_pools(struct loader *loader);
void load_projects(struct loader *loader);
void load_slaves(struct loader *loader);
void load_builders(struct loader *loader);
/* The steps of one builder; node may be NULL (an error). */
void load_steps(struct loader *loader, struct config_builder *builder, const struct yaml_node *node,
                const struct yaml_node *where);
/* Whether a slave can be told of the builder at all. */
void load_limits(struct loader *loader, const struct yaml_node *key,
                 const struct config_builder *builder);

/* A path as written in node's file, relative to that file, made absolute; owned. */
char *load_path(const struct yaml_node *node, const char *path);
/* Text or a list of texts, appended. false with an error when it is neither. */
bool load_texts(struct loader *loader, const struct yaml_node *node, text_list *out);
/* Names and patterns of branches, appended. */
void load_branches(struct loader *loader, const struct yaml_node *node, glob_list *out);
void load_env(struct loader *loader, const struct yaml_node *node, config_env_list *out);
/* Labels: [quiet, big], or a mapping {os: [linux, debian]}, which means os=linux and os=debian. */
void load_labels(struct loader *loader, const struct yaml_node *node, text_list *out);
/* Whether the key is a name (ident_is_name); an error that says what for when not. */
bool load_name(struct loader *loader, const struct yaml_node *key, const char *what);
/* An error when `taken`; returns whether the name is free. */
bool load_unique(struct loader *loader, const struct yaml_node *key, const char *what, bool taken);
void load_digest(const struct yaml_node *node, const char *more, config_digest out);

void config_step_release(struct config_step *step);
void config_globs_release(glob_list *globs);
void config_env_release(config_env_list *env);

#endif
