#include "slave/steps/launch.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"

/* The folder that the command runs in; owned. */
static char *dir_of(const struct launch *launch, const struct step_command *command)
{
    const char *source = workspace_source(launch->context->workspace);
    struct view dir = launch->spec->dir;

    if (command->dir)
        return xstrdup(command->dir);
    return dir.n == 0 ? xstrdup(source) : xasprintf("%s/%.*s", source, VIEW_ARG(dir));
}

static void fill_env(const struct launch *launch, const struct step_command *command,
                     struct envlist *env)
{
    const struct msg_step *spec = launch->spec;
    size_t i;

    envlist_add(env, launch->context->env);
    for (i = 0; i < spec->env.n; i++)
        envlist_set_view(env, spec->env.v[i].name, spec->env.v[i].value);
    if (command->env)
        envlist_add(env, command->env);
    envlist_put(env, sandbox_env(launch->sandbox));
}

enum err_code launch_command(const struct launch *launch, const struct step_command *command,
                             struct child **out, struct err *err)
{
    struct envlist env = ENVLIST_INIT;
    char *dir = dir_of(launch, command);
    enum err_code rc = ERR_OK;

    fill_env(launch, command, &env);
    if (!fs_exists(dir))
        rc = err_set(err, ERR_NOTFOUND, "there is no folder %s", dir);
    if (!rc) {
        struct child_spec spec = {
            .argv = command->argv,
            .env = envlist_array(&env),
            .dir = dir,
            .separate_stderr = launch->spec->separate_stderr,
            .silent = command->silent,
            .grace_ms = launch->grace_ms,
        };

        rc = child_start(launch->context->loop, launch->sandbox, &spec, launch->ops, launch->owner,
                         out, err);
    }
    envlist_release(&env);
    free(dir);
    return rc;
}
