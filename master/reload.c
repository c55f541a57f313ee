#include "master/reload.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/notifyd.h"
#include "common/io/work.h"

struct reload {
    struct hub *hub;
    const struct reload_ops *ops;
    void *owner;
    struct reload_job *running, *waiting;
};

struct reload_job {
    struct reload *reload;
    struct command *command;
    char *path;
    struct config *config;
    struct yaml_errors errors;
    struct reload_job *next;
};

struct reload *reload_new(struct hub *hub, const struct reload_ops *ops, void *owner)
{
    struct reload *reload = xcalloc(1, sizeof *reload);

    reload->hub = hub;
    reload->ops = ops;
    reload->owner = owner;
    return reload;
}

static void job_free(struct reload_job *job)
{
    config_unref(&job->config);
    yaml_errors_release(&job->errors);
    free(job->path);
    free(job);
}

void reload_free(struct reload *reload)
{
    if (!reload)
        return;
    while (reload->waiting) {
        struct reload_job *job = reload->waiting;

        reload->waiting = job->next;
        command_free(job->command);
        job_free(job);
    }
    free(reload);
}

static void on_run(void *arg)
{
    struct reload_job *job = arg;

    job->config = config_load(job->path, &job->errors);
}

/* What a running master cannot change: it is said, and takes effect at the next start. */
static void note_fixed(const struct config *from, const struct config *to, text_list *changed)
{
    if (strcmp(from->listen, to->listen) != 0)
        vec_push(changed, xstrdup("master listen (after a restart)"));
    if (strcmp(from->web, to->web) != 0)
        vec_push(changed, xstrdup("master web (after a restart)"));
    if (strcmp(from->data, to->data) != 0)
        vec_push(changed, xstrdup("master data (after a restart)"));
}

static void job_apply(struct reload_job *job, text_list *draining)
{
    struct reload *reload = job->reload;
    struct hub *hub = reload->hub;
    struct config_report report = {NULL, draining};
    text_list added = {0}, changed = {0}, removed = {0};
    struct command *command = job->command;

    config_diff(hub->config, job->config, &added, &changed, &removed);
    note_fixed(hub->config, job->config, &changed);
    config_unref(&hub->config);
    hub->config = job->config;
    job->config = NULL;
    log_info("config.loaded", LOG_STR("file", job->path), LOG_INT("added", added.n),
             LOG_INT("changed", changed.n), LOG_INT("removed", removed.n));
    reload->ops->on_config(reload->owner, &report);
    if (command) {
        command->added = added;
        command->changed = changed;
        command->removed = removed;
    } else {
        text_list_release(&added);
        text_list_release(&changed);
        text_list_release(&removed);
    }
}

static void job_refuse(struct reload_job *job)
{
    struct reload *reload = job->reload;
    struct config_report report = {NULL, NULL};
    char **text;

    report.error = job->errors.v.n ? job->errors.v.v[0] : "the configuration cannot be read";
    VEC_FOREACH (&job->errors.v, text) {
        log_error("config.bad", LOG_STR("error", *text));
    }
    reload->ops->on_config(reload->owner, &report);
    if (!job->command)
        return;
    (void)err_set(&job->command->err, ERR_CONFIG, "%zu error%s; nothing has changed",
                  job->errors.v.n, job->errors.v.n == 1 ? "" : "s");
    VEC_FOREACH (&job->errors.v, text) {
        vec_push(&job->command->errors, xstrdup(*text));
    }
}

static void job_start(struct reload_job *job);

static void on_done(void *arg)
{
    struct reload_job *job = arg;
    struct reload *reload = job->reload;
    text_list draining = {0};

    reload->running = NULL;
    if (reload->hub->stopping) {
        if (job->command)
            (void)err_set(&job->command->err, ERR_NOSPACE, "the master is stopping");
    } else if (job->config) {
        job_apply(job, &draining);
    } else {
        job_refuse(job);
    }
    notifyd_send("READY=1");
    if (job->command)
        job->command->draining = draining;
    else
        text_list_release(&draining);
    reload->ops->on_done(reload->owner, job->command);
    job_free(job);
    if (reload->waiting) {
        job = reload->waiting;
        reload->waiting = job->next;
        job_start(job);
    }
}

static void job_start(struct reload_job *job)
{
    job->reload->running = job;
    notifyd_send("RELOADING=1");
    work_start(job->reload->hub->loop, on_run, on_done, job);
}

void reload_begin(struct reload *reload, struct command *command)
{
    struct reload_job *job = xcalloc(1, sizeof *job);
    struct reload_job **last = &reload->waiting;

    job->reload = reload;
    job->command = command;
    job->path = xstrdup(reload->hub->config->path);
    if (!reload->running) {
        job_start(job);
        return;
    }
    while (*last)
        last = &(*last)->next;
    *last = job;
}
