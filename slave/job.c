#include "slave/job.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/mem.h"
#include "common/base/vec.h"

struct job {
    struct msg_start spec;
    VEC(void *) blocks; /* every copy that spec points to */
};

static void *job_keep(struct job *job, void *block)
{
    vec_push(&job->blocks, block);
    return block;
}

static struct view copy_text(struct job *job, struct view text)
{
    return view_bytes(job_keep(job, view_dup(text)), text.n);
}

/* An array of n elements; NULL for none. */
static void *copy_array(struct job *job, const void *from, size_t n, size_t size)
{
    return n ? job_keep(job, xmemdup(from, n * size)) : NULL;
}

static const struct msg_pair *copy_env(struct job *job, const struct msg_pair *from, size_t n)
{
    struct msg_pair *env = copy_array(job, from, n, sizeof *env);
    size_t i;

    for (i = 0; i < n; i++) {
        env[i].name = copy_text(job, env[i].name);
        env[i].value = copy_text(job, env[i].value);
    }
    return env;
}

static void copy_step(struct job *job, struct msg_step *step)
{
    struct view *argv = copy_array(job, step->argv.v, step->argv.n, sizeof *argv);
    size_t i;

    step->name = copy_text(job, step->name);
    step->shell = copy_text(job, step->shell);
    step->dir = copy_text(job, step->dir);
    for (i = 0; i < step->argv.n; i++)
        argv[i] = copy_text(job, argv[i]);
    step->argv.v = argv;
    step->env.v = copy_env(job, step->env.v, step->env.n);
}

static void copy_spec(struct job *job, const struct msg_start *start)
{
    struct msg_start *spec = &job->spec;
    struct msg_step *steps;
    size_t i;

    *spec = *start;
    spec->builder = copy_text(job, start->builder);
    spec->project = copy_text(job, start->project);
    spec->branch = copy_text(job, start->branch);
    spec->revision = copy_text(job, start->revision);
    spec->url = copy_text(job, start->url);
    spec->git = copy_text(job, start->git);
    spec->env.v = copy_env(job, start->env.v, start->env.n);
    steps = copy_array(job, start->steps.v, start->steps.n, sizeof *steps);
    for (i = 0; i < start->steps.n; i++)
        copy_step(job, &steps[i]);
    spec->steps.v = steps;
}

static bool has_nul(struct view text)
{
    return text.n > 0 && memchr(text.p, '\0', text.n);
}

/* Whether a path stays inside the folder that it is relative to. */
static bool stays_inside(struct view path)
{
    size_t at = 0;

    if (path.n > 0 && path.p[0] == '/')
        return false;
    while (at < path.n) {
        size_t end = at;

        while (end < path.n && path.p[end] != '/')
            end++;
        if (end - at == 2 && path.p[at] == '.' && path.p[at + 1] == '.')
            return false;
        at = end + 1;
    }
    return true;
}

static enum err_code check_env(const struct msg_pair *env, size_t n, struct err *err)
{
    size_t i;

    for (i = 0; i < n; i++) {
        struct view name = env[i].name;

        if (name.n == 0 || has_nul(name) || memchr(name.p, '=', name.n) || has_nul(env[i].value))
            return err_set(err, ERR_PROTO, "env: variable %zu cannot be set in an environment",
                           i + 1);
    }
    return ERR_OK;
}

static enum err_code check_command(const struct msg_step *step, struct err *err)
{
    size_t i;

    if (step->shell.n == 0 && step->argv.n == 0)
        return err_set(err, ERR_PROTO, "it has no command");
    if (step->shell.n > 0 && step->argv.n > 0)
        return err_set(err, ERR_PROTO, "it has both a shell command and an argument list");
    if (has_nul(step->shell))
        return err_set(err, ERR_PROTO, "its command holds a NUL byte");
    for (i = 0; i < step->argv.n; i++)
        if (has_nul(step->argv.v[i]))
            return err_set(err, ERR_PROTO, "its argument %zu holds a NUL byte", i);
    if (step->argv.n > 0 && step->argv.v[0].n == 0)
        return err_set(err, ERR_PROTO, "the name of its program is empty");
    return ERR_OK;
}

static enum err_code check_checkout(const struct msg_start *start, struct err *err)
{
    if (start->git.n == 0)
        return err_set(err, ERR_PROTO, "there is no repository to check out");
    if (start->revision.n == 0 && start->branch.n == 0)
        return err_set(err, ERR_PROTO, "there is neither a revision nor a branch to check out");
    return ERR_OK;
}

static enum err_code check_step(const struct msg_start *start, const struct msg_step *step,
                                struct err *err)
{
    enum err_code rc;

    if (step->kind < STEP_CHECKOUT || step->kind > STEP_KIND_LAST)
        return err_set(err, ERR_PROTO, "this slave knows no steps of kind %u", step->kind);
    if (step->on_failure > ON_FAILURE_LAST)
        return err_set(err, ERR_PROTO, "this slave knows no on_failure %u", step->on_failure);
    if (has_nul(step->name))
        return err_set(err, ERR_PROTO, "its name holds a NUL byte");
    if (has_nul(step->dir) || !stays_inside(step->dir))
        return err_set(err, ERR_PROTO, "its dir leaves the build's folder: %.*s",
                       VIEW_ARG(step->dir));
    rc = check_env(step->env.v, step->env.n, err);
    if (rc)
        return rc;
    return step->kind == STEP_CHECKOUT ? check_checkout(start, err) : check_command(step, err);
}

static enum err_code check_spec(const struct msg_start *start, struct err *err)
{
    enum err_code rc = ERR_OK;
    size_t i;

    /* It becomes the name of the work folder. */
    if (!ident_is_name(start->builder))
        return err_set(err, ERR_PROTO, "the builder's name is none that a folder can have");
    if (start->steps.n == 0)
        return err_set(err, ERR_PROTO, "the build has no steps");
    if (has_nul(start->project) || has_nul(start->branch) || has_nul(start->revision) ||
        has_nul(start->url) || has_nul(start->git))
        return err_set(err, ERR_PROTO, "what is to be built holds a NUL byte");
    rc = check_env(start->env.v, start->env.n, err);
    for (i = 0; !rc && i < start->steps.n; i++) {
        rc = check_step(start, &start->steps.v[i], err);
        if (rc)
            err_prefix(err, "step %zu", i + 1);
    }
    return rc;
}

enum err_code job_new(const struct msg_start *start, struct job **out, struct err *err)
{
    enum err_code rc = check_spec(start, err);
    struct job *job;

    if (rc)
        return rc;
    job = xcalloc(1, sizeof *job);
    copy_spec(job, start);
    *out = job;
    return ERR_OK;
}

void job_free(struct job *job)
{
    size_t i;

    if (!job)
        return;
    for (i = 0; i < job->blocks.n; i++)
        free(job->blocks.v[i]);
    vec_release(&job->blocks);
    free(job);
}

const struct msg_start *job_spec(const struct job *job)
{
    return &job->spec;
}
