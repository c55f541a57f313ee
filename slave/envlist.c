#include "slave/envlist.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

void envlist_release(struct envlist *env)
{
    size_t i;

    for (i = 0; i < env->vars.n; i++)
        free(env->vars.v[i]);
    vec_release(&env->vars);
}

/* The index of the variable whose name begins assignment (name_n bytes), or vars.n. */
static size_t find(const struct envlist *env, const char *name, size_t name_n)
{
    size_t i;

    for (i = 0; i < env->vars.n; i++)
        if (strncmp(env->vars.v[i], name, name_n) == 0 && env->vars.v[i][name_n] == '=')
            break;
    return i;
}

/* Takes over assignment, whose name has name_n bytes. */
static void set(struct envlist *env, char *assignment, size_t name_n)
{
    size_t i = find(env, assignment, name_n);

    if (i == env->vars.n) {
        vec_push(&env->vars, assignment);
    } else {
        free(env->vars.v[i]);
        env->vars.v[i] = assignment;
    }
}

void envlist_set_view(struct envlist *env, struct view name, struct view value)
{
    char *assignment = xmalloc(name.n + value.n + 2);

    memcpy(assignment, name.p, name.n);
    assignment[name.n] = '=';
    if (value.n > 0)
        memcpy(assignment + name.n + 1, value.p, value.n);
    assignment[name.n + 1 + value.n] = '\0';
    set(env, assignment, name.n);
}

void envlist_set(struct envlist *env, const char *name, const char *value)
{
    envlist_set_view(env, view_of(name), view_of(value));
}

void envlist_put(struct envlist *env, const char *assignment)
{
    set(env, xstrdup(assignment), strcspn(assignment, "="));
}

void envlist_inherit(struct envlist *env, const char *name)
{
    const char *value = getenv(name);

    if (value)
        envlist_set(env, name, value);
}

void envlist_add(struct envlist *env, const struct envlist *other)
{
    size_t i;

    for (i = 0; i < other->vars.n; i++)
        envlist_put(env, other->vars.v[i]);
}

const char *envlist_get(const struct envlist *env, const char *name)
{
    size_t i = find(env, name, strlen(name));

    return i == env->vars.n ? NULL : env->vars.v[i] + strlen(name) + 1;
}

char *const *envlist_array(struct envlist *env)
{
    vec_push(&env->vars, NULL);
    env->vars.n--; /* the end stays behind the last */
    return env->vars.v;
}

void envlist_base(struct envlist *env)
{
    const struct passwd *user = getpwuid(geteuid());
    const char *name = user ? user->pw_name : "nobody";

    envlist_set(env, "PATH", default_path);
    envlist_set(env, "HOME", user ? user->pw_dir : "/");
    envlist_set(env, "USER", name);
    envlist_set(env, "LOGNAME", name);
    envlist_set(env, "LANG", "C.UTF-8");
    envlist_inherit(env, "PATH");
    envlist_inherit(env, "HOME");
    envlist_inherit(env, "LANG");
    envlist_inherit(env, "TZ");
}
