#include "master/changes/poller.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/proc.h"
#include "common/io/timer.h"
#include "master/builds.h"
#include "master/changes/lsremote.h"

enum {
    POLLS_AT_ONCE = 4,
    POLL_LIMIT_MS = 120000,       /* of one ls-remote */
    POLL_BACKOFF_MAX_MS = 600000, /* between looks at a remote that fails */
    POLL_OUTPUT_MAX_BYTES = 64 << 20,
    POLL_ERROR_MAX_BYTES = 4096,
    BRANCH_MAX_BYTES = 255, /* as START takes them */
};

/* What is known of one branch. */
struct head {
    char *branch, *revision;
    uint64_t seen; /* the look that saw it last */
    UT_hash_handle hh;
};

struct watch {
    struct poller *poller;
    char *project, *git;
    uint64_t period_ms;
    struct head *heads;
    struct timer due, limit;
    struct proc *proc;
    struct str output, errors;
    uint64_t look;     /* counts the looks */
    unsigned failures; /* in a row */
    bool waiting;      /* for a place among POLLS_AT_ONCE */
    bool watched;      /* by the configuration in force */
    struct watch *prev, *next;
};

struct poller {
    struct hub *hub;
    struct watch *watches;
    bool started;
};

static struct watch *watch_find(struct poller *poller, const char *project)
{
    struct watch *watch;

    DL_FOREACH (poller->watches, watch) {
        if (strcmp(watch->project, project) == 0)
            return watch;
    }
    return NULL;
}

static void on_due(struct timer *timer, void *owner);
static void on_limit(struct timer *timer, void *owner);

static struct watch *watch_get(struct poller *poller, const char *project)
{
    struct watch *watch = watch_find(poller, project);

    if (watch)
        return watch;
    watch = xcalloc(1, sizeof *watch);
    watch->poller = poller;
    watch->project = xstrdup(project);
    watch->output.max = POLL_OUTPUT_MAX_BYTES;
    watch->errors.max = POLL_ERROR_MAX_BYTES;
    timer_init(&watch->due, poller->hub->loop, on_due, watch);
    timer_init(&watch->limit, poller->hub->loop, on_limit, watch);
    DL_APPEND(poller->watches, watch);
    return watch;
}

static void head_free(struct watch *watch, struct head *head)
{
    HASH_DEL(watch->heads, head);
    free(head->branch);
    free(head->revision);
    free(head);
}

static void watch_free(struct poller *poller, struct watch *watch)
{
    struct head *head, *next;

    HASH_ITER (hh, watch->heads, head, next) {
        head_free(watch, head);
    }
    timer_stop(&watch->due);
    timer_stop(&watch->limit);
    if (watch->proc) {
        proc_signal(watch->proc, SIGTERM);
        proc_detach(watch->proc);
    }
    str_release(&watch->output);
    str_release(&watch->errors);
    DL_DELETE(poller->watches, watch);
    free(watch->project);
    free(watch->git);
    free(watch);
}

static struct head *head_get(struct watch *watch, struct view branch)
{
    struct head *head;

    HASH_FIND(hh, watch->heads, branch.p, branch.n, head);
    if (head)
        return head;
    head = xcalloc(1, sizeof *head);
    head->branch = view_dup(branch);
    HASH_ADD_KEYPTR(hh, watch->heads, head->branch, branch.n, head);
    return head;
}

struct poller *poller_new(struct hub *hub, const struct store_snapshot *snapshot)
{
    struct poller *poller = xcalloc(1, sizeof *poller);

    poller->hub = hub;
    for (size_t i = 0; i < snapshot->n_heads; i++) {
        struct watch *watch = watch_get(poller, snapshot->heads[i].project);
        struct head *head = head_get(watch, view_of(snapshot->heads[i].branch));

        free(head->revision);
        head->revision = xstrdup(snapshot->heads[i].revision);
    }
    return poller;
}

void poller_free(struct poller *poller)
{
    struct watch *watch, *next;

    if (!poller)
        return;
    DL_FOREACH_SAFE (poller->watches, watch, next) {
        watch_free(poller, watch);
    }
    free(poller);
}

/* Stored behind the change that it made: dying in between finds the head again, and the change is
 * known. */
static void head_save(struct watch *watch, const struct head *head, bool gone)
{
    struct store_op *op = store_op_new(STORE_HEAD, NULL, NULL);

    op->project = xstrdup(watch->project);
    op->branch = xstrdup(head->branch);
    op->revision = gone ? NULL : xstrdup(head->revision);
    store_post(watch->poller->hub->store, op);
}

/* Whether anything is to be done about a branch. */
static bool watch_wants(struct watch *watch, const char *branch)
{
    const struct config *config = watch->poller->hub->config;
    const struct config_project *project = config_find_project(config, watch->project);
    struct config_builder *def, *next;

    HASH_ITER (hh, config->builders, def, next) {
        if (def->project == project && config_builds_branch(def, branch))
            return true;
    }
    return false;
}

/* A head that was not known. */
static void watch_change(struct watch *watch, struct head *head, struct view revision)
{
    struct hub *hub = watch->poller->hub;
    struct change_info change = {0};
    struct builds_request request;
    char *rev = view_dup(revision);
    struct err err = ERR_INIT;

    change.project = watch->project;
    change.branch = head->branch;
    change.revision = rev;
    change.at_ms = loop_wall_ms(hub->loop);
    request = (struct builds_request){
        .project = config_find_project(hub->config, watch->project),
        .branch = head->branch,
        .revision = rev,
        .reason = "push",
        .change = &change,
    };
    if (builds_create(hub->builds, &request, NULL, NULL, &err)) {
        /* Left unknown: the next look finds it again. */
        log_warn("poller.change", LOG_STR("project", watch->project),
                 LOG_STR("branch", head->branch), LOG_ERR(&err));
        free(rev);
        return;
    }
    log_info("poller.head", LOG_STR("project", watch->project), LOG_STR("branch", head->branch),
             LOG_STR("from", head->revision ? head->revision : "new"), LOG_STR("to", rev));
    free(head->revision);
    head->revision = rev;
    head_save(watch, head, false);
}

static void watch_read(struct watch *watch)
{
    struct view text = str_view(&watch->output);
    struct view revision, branch;
    struct head *head, *next;

    watch->look++;
    while (lsremote_next(&text, &revision, &branch)) {
        char *name = view_dup(branch);

        if (branch.n <= BRANCH_MAX_BYTES && watch_wants(watch, name)) {
            head = head_get(watch, branch);
            head->seen = watch->look;
            if (!head->revision || !view_is(revision, head->revision))
                watch_change(watch, head, revision);
        }
        free(name);
    }
    HASH_ITER (hh, watch->heads, head, next) {
        if (head->seen == watch->look)
            continue;
        log_info("poller.gone", LOG_STR("project", watch->project),
                 LOG_STR("branch", head->branch));
        head_save(watch, head, true);
        head_free(watch, head);
    }
}

/* git's last words may be several lines: the first says it. */
static void watch_failed(struct watch *watch, const char *why)
{
    struct view line = {why, strcspn(why, "\n")};

    if (watch->failures++ == 0)
        log_warn("poller.failed", LOG_STR("project", watch->project), LOG_STR("git", watch->git),
                 LOG_VIEW("why", line));
}

static void watch_next(struct watch *watch)
{
    uint64_t wait_ms = watch->period_ms;

    for (unsigned i = 1; i < watch->failures && wait_ms < POLL_BACKOFF_MAX_MS; i++)
        wait_ms *= 2;
    if (watch->failures && wait_ms > POLL_BACKOFF_MAX_MS && wait_ms > watch->period_ms)
        wait_ms = POLL_BACKOFF_MAX_MS;
    if (watch->watched)
        timer_start(&watch->due, wait_ms, 0);
}

static void poller_let_wait(struct poller *poller);

static void on_output(void *owner, enum proc_channel channel, struct view bytes)
{
    struct watch *watch = owner;
    struct str *to = channel == PROC_OUT ? &watch->output : &watch->errors;

    if (str_append(to, bytes.p, bytes.n, NULL) && channel == PROC_OUT)
        proc_signal(watch->proc, SIGKILL); /* more heads than anybody has */
}

static void on_finished(void *owner, const struct proc_exit *exit)
{
    struct watch *watch = owner;
    bool limited = !timer_is_running(&watch->limit);

    watch->proc = NULL;
    timer_stop(&watch->limit);
    if (exit->code == 0) {
        if (watch->failures)
            log_info("poller.recovered", LOG_STR("project", watch->project));
        watch->failures = 0;
        watch_read(watch);
    } else {
        watch_failed(watch, limited               ? "it took longer than two minutes"
                            : watch->errors.n > 0 ? str_cstr(&watch->errors)
                                                  : "git ls-remote failed");
    }
    str_release(&watch->output);
    str_release(&watch->errors);
    watch_next(watch);
    poller_let_wait(watch->poller);
}

static void watch_look(struct watch *watch)
{
    static const struct proc_ops ops = {.on_output = on_output, .on_finished = on_finished};
    char *home = xasprintf("HOME=%s", getenv("HOME") ? getenv("HOME") : "/");
    char *path = xasprintf("PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    char *argv[] = {"git",     "-c", "safe.directory=*", "ls-remote",
                    "--heads", "--", watch->git,         NULL};
    char *env[] = {home,
                   path,
                   "GIT_TERMINAL_PROMPT=0",
                   "LC_ALL=C",
                   "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh",
                   NULL};
    struct proc_spec spec = {.argv = argv, .env = env, .separate_stderr = true};
    struct err err = ERR_INIT;

    if (proc_start(watch->poller->hub->loop, &spec, &ops, watch, &watch->proc, &err)) {
        watch_failed(watch, err.msg);
        watch_next(watch);
    } else {
        timer_start(&watch->limit, POLL_LIMIT_MS, 0);
    }
    free(home);
    free(path);
}

static unsigned poller_busy(const struct poller *poller)
{
    const struct watch *watch;
    unsigned n = 0;

    DL_FOREACH (poller->watches, watch) {
        n += watch->proc != NULL;
    }
    return n;
}

bool poller_is_looking(const struct poller *poller)
{
    return poller_busy(poller) > 0;
}

static void on_due(struct timer *timer, void *owner)
{
    struct watch *watch = owner;

    (void)timer;
    if (watch->proc)
        return;
    watch->waiting = poller_busy(watch->poller) >= POLLS_AT_ONCE;
    if (!watch->waiting)
        watch_look(watch);
}

static void poller_let_wait(struct poller *poller)
{
    struct watch *watch;

    DL_FOREACH (poller->watches, watch) {
        if (watch->waiting && poller_busy(poller) < POLLS_AT_ONCE) {
            watch->waiting = false;
            watch_look(watch);
        }
    }
}

static void on_limit(struct timer *timer, void *owner)
{
    struct watch *watch = owner;

    (void)timer;
    proc_signal(watch->proc, SIGKILL);
}

void poller_reconfigure(struct poller *poller)
{
    struct config_project *project, *next;
    struct watch *watch;

    DL_FOREACH (poller->watches, watch) {
        const struct config_project *def = config_find_project(poller->hub->config, watch->project);

        watch->watched = def && def->poll_ms > 0;
        if (!watch->watched)
            timer_stop(&watch->due);
    }
    HASH_ITER (hh, poller->hub->config->projects, project, next) {
        if (project->poll_ms == 0)
            continue;
        watch = watch_get(poller, project->name);
        watch->watched = true;
        watch->period_ms = project->poll_ms;
        watch->failures = 0;
        free(watch->git);
        watch->git = xstrdup(project->git);
        /* At once: a branch that was added is built now, not in a period's time. */
        if (poller->started)
            timer_start(&watch->due, 0, 0);
    }
}

void poller_start(struct poller *poller)
{
    poller->started = true;
    poller_reconfigure(poller);
}
