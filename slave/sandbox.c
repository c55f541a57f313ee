#include "slave/sandbox.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/proc.h"
#include "common/io/timer.h"
#include "slave/cgroup.h"
#include "slave/pscan.h"

#define MARK_NAME "TAILRACE_MARK="

enum {
    TERM_POLL_MOST_MS = 250,
    KILL_POLL_MOST_MS = 20,
    STOP_ROUNDS = 10, /* how often a kill looks for what was forked while it stopped the rest */
    SWEEP_MS = 5000,
    SWEEP_POLL_US = 5000,
};

enum sandbox_state { SANDBOX_OPEN, SANDBOX_TERM, SANDBOX_KILL };

struct sandbox {
    struct loop *loop;
    char *cgroup; /* its own folder, or NULL */
    char *cgroup_home;
    char *cgroup_procs;
    char *env; /* MARK_NAME value */
    int command;
    enum sandbox_state state;
    struct timer poll;
    uint64_t poll_ms;
    uint64_t kill_at_ms, give_up_at_ms;
    pscan_list termed, killed; /* each process once */
    unsigned found;
    void (*done)(void *owner, unsigned found, unsigned killed);
    void *owner;
};

/* How many there are in this process; being a subreaper is the process's matter too. */
static unsigned living;

static char *mark_of(const char *mark, uint64_t build, uint32_t attempt)
{
    if (build == 0)
        return xasprintf(MARK_NAME "%s/", mark);
    return xasprintf(MARK_NAME "%s/%" PRIu64 "/%" PRIu32 "/", mark, build, attempt);
}

static bool list_has(const pscan_list *list, const struct pscan_process *process)
{
    size_t i;

    for (i = 0; i < list->n; i++)
        if (list->v[i].pid == process->pid && list->v[i].start_ticks == process->start_ticks)
            return true;
    return false;
}

static bool list_has_pid(const pscan_list *list, int pid)
{
    size_t i;

    for (i = 0; i < list->n; i++)
        if (list->v[i].pid == pid)
            return true;
    return false;
}

static void list_add_once(pscan_list *list, const struct pscan_process *process)
{
    if (!list_has(list, process))
        vec_push(list, *process);
}

/* An orphan that nobody claims: a daemon that wiped its environment. Only a sandbox without a
 * cgroup must guess so, and only while there is no other whose it could be. What stays in our own
 * session comes from no command. */
static bool is_unclaimed(const struct sandbox *s, const struct pscan_process *process)
{
    return living == 1 && s->loop && !s->cgroup && process->ppid == (int)getpid() &&
           process->sid != (int)getsid(0) && !proc_is_child(s->loop, process->pid) &&
           !pscan_env_starts(process->pid, MARK_NAME);
}

static bool is_inside(const struct sandbox *s, const struct pscan_process *process,
                      const pscan_list *inside)
{
    if (s->command > 0 && process->sid == s->command)
        return true;
    return list_has_pid(inside, process->ppid) || pscan_env_starts(process->pid, s->env) ||
           is_unclaimed(s, process);
}

/* Adds to inside what of all belongs there, until descendants of the last added are in too. */
static void pick_inside(const struct sandbox *s, const pscan_list *all, pscan_list *inside)
{
    size_t before;
    size_t i;

    do {
        before = inside->n;
        for (i = 0; i < all->n; i++) {
            const struct pscan_process *process = &all->v[i];

            if (process->pid > 1 && process->pid != (int)getpid() && !list_has(inside, process) &&
                is_inside(s, process, inside))
                vec_push(inside, *process);
        }
    } while (inside->n > before);
}

static void add_cgroup(const char *cgroup, pscan_list *inside)
{
    pid_list pids = {0};
    size_t i;

    cgroup_pids(cgroup, &pids);
    for (i = 0; i < pids.n; i++) {
        struct pscan_process process;

        if (pids.v[i] != (int)getpid() && pscan_get(pids.v[i], &process))
            list_add_once(inside, &process);
    }
    vec_release(&pids);
}

/* All that is inside now. What descends from us is a cheap look; only when that shows nothing, and
 * no cgroup says the same, all of /proc is asked. */
static void sandbox_list(const struct sandbox *s, pscan_list *inside)
{
    pscan_list all = {0};
    bool sure;

    if (s->cgroup)
        add_cgroup(s->cgroup, inside);
    sure = pscan_descendants(&all) && s->cgroup && !cgroup_populated(s->cgroup);
    pick_inside(s, &all, inside);
    if (inside->n == 0 && !sure) {
        all.n = 0;
        pscan_all(&all);
        pick_inside(s, &all, inside);
    }
    vec_release(&all);
}

static void signal_all(const pscan_list *list, int signal)
{
    size_t i;

    for (i = 0; i < list->n; i++)
        (void)kill(list->v[i].pid, signal);
}

static void finish(struct sandbox *s)
{
    s->state = SANDBOX_OPEN;
    s->command = 0;
    s->done(s->owner, s->found, (unsigned)s->killed.n);
}

/* TERM to those that have not had it. What turned up since then is the work of a process that minds
 * its TERM and tidies up, and is left to it for its grace; unless its parent is gone: then it was
 * forked in the very moment, and has had none. */
static void term_round(struct sandbox *s, const pscan_list *inside, bool first)
{
    size_t i;

    for (i = 0; i < inside->n; i++) {
        if (list_has(&s->termed, &inside->v[i]) ||
            (!first && list_has_pid(inside, inside->v[i].ppid)))
            continue;
        vec_push(&s->termed, inside->v[i]);
        (void)kill(inside->v[i].pid, SIGTERM);
        (void)kill(inside->v[i].pid, SIGCONT); /* else a stopped one would not notice */
    }
}

/* Stops all, looking again until no new ones turn up, then kills: what is stopped cannot fork away.
 */
static void kill_round(struct sandbox *s, pscan_list *inside)
{
    unsigned round;
    size_t before = 0;
    size_t i;

    for (round = 0; round < STOP_ROUNDS && inside->n > before; round++) {
        before = inside->n;
        signal_all(inside, SIGSTOP);
        sandbox_list(s, inside);
    }
    for (i = 0; i < inside->n; i++)
        list_add_once(&s->killed, &inside->v[i]);
    if (s->cgroup)
        cgroup_kill(s->cgroup);
    signal_all(inside, SIGKILL);
}

static void poll_again(struct sandbox *s, uint64_t most_ms)
{
    uint64_t now = loop_now_ms(s->loop);
    uint64_t wait = s->poll_ms;

    s->poll_ms = s->poll_ms * 2 < most_ms ? s->poll_ms * 2 : most_ms;
    if (s->state == SANDBOX_TERM && s->kill_at_ms - now < wait)
        wait = s->kill_at_ms - now;
    timer_start(&s->poll, wait, 0);
}

static void enter_kill(struct sandbox *s)
{
    s->state = SANDBOX_KILL;
    s->poll_ms = 2;
    s->give_up_at_ms = loop_now_ms(s->loop) + SANDBOX_GIVE_UP_MS;
}

static void give_up(struct sandbox *s, const pscan_list *inside)
{
    size_t i;

    for (i = 0; i < inside->n; i++)
        log_error("sandbox.unkillable", LOG_ID("pid", inside->v[i].pid), LOG_STR("mark", s->env));
    finish(s);
}

static void sandbox_on_poll(struct timer *timer, void *owner)
{
    struct sandbox *s = owner;
    pscan_list inside = {0};
    uint64_t now = loop_now_ms(s->loop);

    (void)timer;
    sandbox_list(s, &inside);
    if (s->state == SANDBOX_TERM && now >= s->kill_at_ms)
        enter_kill(s);
    if (inside.n == 0) {
        finish(s);
    } else if (s->state == SANDBOX_TERM) {
        term_round(s, &inside, false);
        poll_again(s, TERM_POLL_MOST_MS);
    } else if (now < s->give_up_at_ms) {
        kill_round(s, &inside);
        poll_again(s, KILL_POLL_MOST_MS);
    } else {
        give_up(s, &inside);
    }
    vec_release(&inside);
}

static void sandbox_begin_end(struct sandbox *s)
{
    pscan_list inside = {0};

    s->termed.n = s->killed.n = 0;
    s->state = SANDBOX_TERM;
    s->poll_ms = 2;
    sandbox_list(s, &inside);
    s->found = (unsigned)inside.n - (list_has_pid(&inside, s->command) ? 1 : 0);
    term_round(s, &inside, true);
    if (inside.n == 0)
        timer_start(&s->poll, 0, 0);
    else
        poll_again(s, TERM_POLL_MOST_MS);
    vec_release(&inside);
}

void sandbox_end(struct sandbox *s, uint64_t grace_ms,
                 void (*done)(void *owner, unsigned found, unsigned killed), void *owner)
{
    uint64_t kill_at_ms = loop_now_ms(s->loop) + grace_ms;

    s->done = done;
    s->owner = owner;
    if (s->state == SANDBOX_OPEN) {
        s->kill_at_ms = kill_at_ms;
        sandbox_begin_end(s);
    } else if (s->state == SANDBOX_TERM && kill_at_ms < s->kill_at_ms) {
        s->kill_at_ms = kill_at_ms;
        timer_start(&s->poll, 0, 0);
    }
}

struct sandbox *sandbox_new(struct loop *loop, const char *cgroup, const char *mark, uint64_t build,
                            uint32_t attempt, uint32_t step)
{
    struct sandbox *s = xcalloc(1, sizeof *s);
    char *attempt_mark = mark_of(mark, build, attempt);

    s->loop = loop;
    timer_init(&s->poll, loop, sandbox_on_poll, s);
    /* Ends in '/', so that step 1 is no prefix of step 10. */
    s->env = xasprintf("%s%" PRIu32 "/", attempt_mark, step);
    free(attempt_mark);
    if (cgroup) {
        s->cgroup = xasprintf("%s/%" PRIu64 "-%" PRIu32 "-%" PRIu32, cgroup, build, attempt, step);
        s->cgroup_procs = xasprintf("%s/cgroup.procs", s->cgroup);
        s->cgroup_home = xstrdup(cgroup);
        if (!cgroup_make(cgroup) || !cgroup_make(s->cgroup)) {
            log_warn("sandbox.no_cgroup", LOG_STR("path", s->cgroup));
            free(s->cgroup);
            s->cgroup = NULL;
        }
    }
    living++;
    return s;
}

void sandbox_free(struct sandbox *s)
{
    if (!s)
        return;
    assert(s->state == SANDBOX_OPEN);
    living--;
    timer_stop(&s->poll);
    if (s->cgroup && !cgroup_remove(s->cgroup))
        log_warn("sandbox.cgroup_left", LOG_STR("path", s->cgroup));
    if (s->cgroup_home)
        (void)rmdir(s->cgroup_home); /* unless it holds others */
    vec_release(&s->termed);
    vec_release(&s->killed);
    free(s->cgroup);
    free(s->cgroup_home);
    free(s->cgroup_procs);
    free(s->env);
    free(s);
}

const char *sandbox_cgroup_procs(const struct sandbox *s)
{
    return s->cgroup ? s->cgroup_procs : NULL;
}

const char *sandbox_env(const struct sandbox *s)
{
    return s->env;
}

void sandbox_adopt(struct sandbox *s, int pid)
{
    s->command = pid;
}

static char *home_of(const char *mark)
{
    char *name = xasprintf("tailrace-%s", mark);
    char *home = strchr(mark, '/') ? NULL : cgroup_home(name);

    free(name);
    return home;
}

static void remove_stale(void *arg, const char *path, const char *name)
{
    (void)arg;
    (void)name;
    (void)cgroup_remove(path);
}

char *sandbox_setup(const char *mark)
{
    char *home = home_of(mark);

    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (!home)
        return NULL;
    if (!cgroup_usable(home)) {
        free(home);
        return NULL;
    }
    cgroup_children(home, remove_stale, NULL);
    (void)rmdir(home);
    return home;
}

/* What a sweep looks for, and what one round found. */
struct sweep {
    const char *env_prefix;
    const char *cgroup_prefix; /* of the names of children */
    pscan_list inside;
};

static void sweep_cgroup(void *arg, const char *path, const char *name)
{
    struct sweep *sweep = arg;

    if (strncmp(name, sweep->cgroup_prefix, strlen(sweep->cgroup_prefix)) != 0)
        return;
    if (!cgroup_remove(path))
        add_cgroup(path, &sweep->inside);
}

static void sweep_round(struct sweep *sweep, const char *home)
{
    pscan_list all = {0};
    struct sandbox like = {.env = (char *)sweep->env_prefix};

    sweep->inside.n = 0;
    if (home)
        cgroup_children(home, sweep_cgroup, sweep);
    pscan_all(&all);
    pick_inside(&like, &all, &sweep->inside);
    vec_release(&all);
}

unsigned sandbox_sweep(const char *mark, uint64_t build, uint32_t attempt)
{
    char *home = home_of(mark);
    char *env_prefix = mark_of(mark, build, attempt);
    char *cgroup_prefix =
        build ? xasprintf("%" PRIu64 "-%" PRIu32 "-", build, attempt) : xstrdup("");
    struct sweep sweep = {env_prefix, cgroup_prefix, {0}};
    pscan_list ever = {0};
    unsigned rounds = SWEEP_MS * 1000 / SWEEP_POLL_US;
    size_t i;

    while (rounds-- > 0) {
        sweep_round(&sweep, home);
        for (i = 0; i < sweep.inside.n; i++)
            list_add_once(&ever, &sweep.inside.v[i]);
        if (sweep.inside.n == 0)
            break;
        signal_all(&sweep.inside, SIGSTOP);
        signal_all(&sweep.inside, SIGKILL);
        (void)usleep(SWEEP_POLL_US);
    }
    if (home)
        (void)rmdir(home);
    i = ever.n;
    vec_release(&ever);
    vec_release(&sweep.inside);
    free(cgroup_prefix);
    free(env_prefix);
    free(home);
    return (unsigned)i;
}
