/*
 * envlist: an environment for a command, built from nothing: each name once, later values replace
 * earlier ones.
 */
#ifndef TAILRACE_SLAVE_ENVLIST_H
#define TAILRACE_SLAVE_ENVLIST_H

#include "common/base/str.h"
#include "common/base/vec.h"

/* Owned "NAME=value" strings, then a NULL: envlist.v is what execve() wants. */
struct envlist {
    VEC(char *) vars;
};

#define ENVLIST_INIT                                                                               \
    {                                                                                              \
        {                                                                                          \
            NULL, 0, 0                                                                             \
        }                                                                                          \
    }

void envlist_release(struct envlist *env);
void envlist_set(struct envlist *env, const char *name, const char *value);
void envlist_set_view(struct envlist *env, struct view name, struct view value);
/* "NAME=value" as one text. */
void envlist_put(struct envlist *env, const char *assignment);
/* The value that this program itself has, if it has one. */
void envlist_inherit(struct envlist *env, const char *name);
/* Appends copies of all of other. */
void envlist_add(struct envlist *env, const struct envlist *other);
/* NULL when it is not set. */
const char *envlist_get(const struct envlist *env, const char *name);
/* For execve(); good until the next change. */
char *const *envlist_array(struct envlist *env);

/* What every command starts from: PATH, HOME, USER, LOGNAME, LANG, and TZ where this program has
 * one. Nothing else of what the agent happened to be started with. */
void envlist_base(struct envlist *env);

#endif
