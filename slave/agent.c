#include "slave/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "common/io/notifyd.h"
#include "common/io/timer.h"
#include "slave/attempts.h"
#include "slave/facts.h"
#include "slave/runner.h"
#include "slave/sandbox.h"
#include "slave/spool.h"
#include "slave/uplink.h"

enum agent_state {
    AGENT_RUNNING,
    AGENT_DRAINING,
    AGENT_KILLING,
    AGENT_STOPPING,
    AGENT_STOPPED,
};

struct agent {
    struct loop *loop;
    const struct config *config;
    void (*on_stopped)(void *owner);
    void *owner;
    enum agent_state state;
    char *dir; /* absolute: steps run elsewhere */
    int lock;
    char mark[IDENT_MAX];    /* the folder's */
    char boot_id[IDENT_MAX]; /* this run's */
    char *cgroup;
    struct facts facts;
    struct runner_host host;
    struct spool *spool;
    struct attempts *attempts;
    struct uplink *uplink;
    struct timer soon;     /* what must not be done inside the callback that asks for it */
    struct timer ack_wait; /* DRAINING, KILLING: nothing runs, acknowledgements are awaited */
    bool room, announced;
};

static void look_soon(struct agent *agent)
{
    timer_start(&agent->soon, 0, 0);
}

static void end(struct agent *agent)
{
    if (agent->state >= AGENT_STOPPING)
        return;
    log_info("agent.stopping", LOG_INT("unacknowledged", attempts_unacknowledged(agent->attempts)));
    agent->state = AGENT_STOPPING;
    timer_stop(&agent->ack_wait);
    uplink_stop(agent->uplink, "the slave agent is stopping");
}

/* Ends the agent if it was asked to stop and nothing stands against it. */
static void check_drained(struct agent *agent)
{
    bool killing = agent->state == AGENT_KILLING;

    if (agent->state != AGENT_DRAINING && !killing)
        return;
    if (attempts_active(agent->attempts) > 0)
        return;
    if (!attempts_unacknowledged(agent->attempts) || uplink_state(agent->uplink) != UPLINK_READY)
        end(agent);
    else if (!timer_is_running(&agent->ack_wait))
        timer_start(&agent->ack_wait, killing ? AGENT_KILL_WAIT_MS : AGENT_ACK_WAIT_MS, 0);
}

static void on_soon(struct timer *timer, void *owner)
{
    struct agent *agent = owner;

    (void)timer;
    if (agent->room) {
        agent->room = false;
        attempts_resume(agent->attempts);
    }
    check_drained(agent);
}

static void on_ack_wait(struct timer *timer, void *owner)
{
    (void)timer;
    end(owner);
}

static void on_record(void *owner, struct journal *journal)
{
    struct agent *agent = owner;

    (void)journal;
    uplink_kick(agent->uplink);
}

static void on_room(void *owner)
{
    struct agent *agent = owner;

    agent->room = true;
    look_soon(agent);
}

static const struct spool_ops spool_callbacks = {.on_record = on_record, .on_room = on_room};

static void on_change(void *owner)
{
    look_soon(owner);
}

static void on_ready(void *owner)
{
    struct agent *agent = owner;

    if (agent->announced)
        return;
    agent->announced = true;
    notifyd_send("READY=1\nSTATUS=connected to the master");
}

static void on_start(void *owner, const struct msg_start *start)
{
    struct agent *agent = owner;
    struct err err = ERR_INIT;

    if (attempts_start(agent->attempts, start, &err) == ERR_OK)
        return;
    log_error("agent.start_failed", LOG_ID("build", start->build),
              LOG_ID("attempt", start->attempt), LOG_ERR(&err));
    /* Without a journal there is no other way to say so: the next HELLO does not hold it. */
    uplink_reconnect(agent->uplink, &err);
}

static void on_cancel(void *owner, uint64_t build, uint32_t attempt, struct view reason)
{
    struct agent *agent = owner;
    char *text = view_dup(reason);

    log_info("agent.cancel", LOG_ID("build", build), LOG_ID("attempt", attempt),
             LOG_VIEW("reason", reason));
    attempts_cancel(agent->attempts, build, attempt, text);
    free(text);
}

static void on_forget(void *owner, uint64_t build, uint32_t attempt)
{
    struct agent *agent = owner;

    attempts_forget(agent->attempts, build, attempt);
}

static void on_acked(void *owner)
{
    struct agent *agent = owner;

    if (agent->state != AGENT_RUNNING)
        look_soon(agent);
}

static void on_uplink_stopped(void *owner)
{
    struct agent *agent = owner;

    agent->state = AGENT_STOPPED;
    log_info("agent.stopped", LOG_STR("name", agent->config->name));
    agent->on_stopped(agent->owner);
}

static const struct uplink_ops uplink_callbacks = {
    .on_ready = on_ready,
    .on_start = on_start,
    .on_cancel = on_cancel,
    .on_forget = on_forget,
    .on_acked = on_acked,
    .on_stopped = on_uplink_stopped,
};

/* Makes the folder and keeps everybody else out of it. */
static enum err_code take_folder(struct agent *agent, struct err *err)
{
    enum err_code rc = fs_mkdirs(agent->config->dir, err);
    char *path;

    if (rc)
        return rc;
    agent->dir = realpath(agent->config->dir, NULL);
    if (!agent->dir)
        return err_set_sys(err, errno, "%s", agent->config->dir);
    path = fs_join(agent->dir, "lock");
    rc = fs_lock(path, &agent->lock, err);
    free(path);
    if (rc == ERR_EXISTS)
        rc = err_set(err, ERR_EXISTS, "another slave agent is using %s", agent->dir);
    return rc;
}

/* The folder's identity, made at its first use. */
static enum err_code read_identity(struct agent *agent, struct err *err)
{
    struct str text = STR_INIT(IDENT_MAX + 1);
    char *path = fs_join(agent->dir, "identity");
    char line[IDENT_MAX + 1];
    enum err_code rc = fs_read(path, &text, err);

    if (rc == ERR_NOTFOUND) {
        ident_new(loop_wall_ms(agent->loop), agent->mark);
        (void)snprintf(line, sizeof line, "%s\n", agent->mark);
        rc = fs_replace(path, view_of(line), 0600, err);
    } else if (!rc && (text.n != IDENT_MAX || !ident_is_name(view_bytes(text.p, text.n - 1)))) {
        rc = err_set(err, ERR_CONFIG, "%s is damaged: expected one line of %d characters", path,
                     IDENT_MAX - 1);
    } else if (!rc) {
        memcpy(agent->mark, text.p, IDENT_MAX - 1);
    }
    str_release(&text);
    free(path);
    return rc;
}

/* What an earlier run's builds left running must be gone before its journals say that they ended.
 */
static void end_leftovers(struct agent *agent)
{
    unsigned found;

    agent->cgroup = sandbox_setup(agent->mark);
    found = sandbox_sweep(agent->mark, 0, 0);
    if (found > 0)
        log_warn("agent.leftovers_killed", LOG_INT("processes", found));
}

static void make_uplink(struct agent *agent)
{
    const struct config *config = agent->config;
    struct uplink_config uplink = {
        .host = config->master_host,
        .port = config->master_port,
        .secret_file = config->secret_file,
        .name = config->name,
        .boot_id = agent->boot_id,
        .slots = config->slots,
        .facts = &agent->facts,
        .backoff_max_ms = config->backoff_max_ms,
    };

    agent->uplink = uplink_new(agent->loop, &uplink, agent->spool, &uplink_callbacks, agent);
}

enum err_code agent_new(struct loop *loop, const struct config *config,
                        void (*on_stopped)(void *owner), void *owner, struct agent **out,
                        struct err *err)
{
    struct agent *agent = xcalloc(1, sizeof *agent);
    enum err_code rc;

    agent->loop = loop;
    agent->config = config;
    agent->on_stopped = on_stopped;
    agent->owner = owner;
    agent->lock = -1;
    timer_init(&agent->soon, loop, on_soon, agent);
    timer_init(&agent->ack_wait, loop, on_ack_wait, agent);
    facts_read(&agent->facts);
    ident_new(loop_wall_ms(loop), agent->boot_id);
    rc = take_folder(agent, err);
    if (!rc)
        rc = read_identity(agent, err);
    if (!rc) {
        end_leftovers(agent);
        rc = spool_open(agent->dir, config->spool_limit_bytes, &spool_callbacks, agent,
                        &agent->spool, err);
    }
    if (rc) {
        agent_free(agent);
        return rc;
    }
    spool_set_tag(agent->spool, agent->facts.machine_boot);
    agent->host = (struct runner_host){.loop = loop,
                                       .dir = agent->dir,
                                       .name = config->name,
                                       .mark = agent->mark,
                                       .cgroup = agent->cgroup};
    make_uplink(agent);
    agent->attempts = attempts_new(&agent->host, agent->spool, config->slots, on_change, agent);
    attempts_take_up(agent->attempts, agent->facts.machine_boot);
    *out = agent;
    return ERR_OK;
}

void agent_start(struct agent *agent)
{
    log_info("agent.started", LOG_STR("name", agent->config->name),
             LOG_STR("version", TAILRACE_VERSION), LOG_STR("master", agent->config->master),
             LOG_STR("dir", agent->dir), LOG_INT("slots", agent->config->slots),
             LOG_STR("cgroup", agent->cgroup ? agent->cgroup : "none"));
    uplink_start(agent->uplink);
}

void agent_stop(struct agent *agent)
{
    if (agent->state == AGENT_RUNNING) {
        log_info("agent.draining", LOG_INT("running", attempts_active(agent->attempts)));
        agent->state = AGENT_DRAINING;
        notifyd_send("STOPPING=1\nSTATUS=waiting for running builds");
        uplink_drain(agent->uplink);
    } else if (agent->state == AGENT_DRAINING) {
        log_warn("agent.killing", LOG_INT("running", attempts_active(agent->attempts)));
        agent->state = AGENT_KILLING;
        timer_stop(&agent->ack_wait);
        attempts_interrupt_all(agent->attempts, "interrupted: the slave agent was stopped");
    }
    look_soon(agent);
}

void agent_free(struct agent *agent)
{
    if (!agent)
        return;
    timer_stop(&agent->soon);
    timer_stop(&agent->ack_wait);
    attempts_free(agent->attempts);
    uplink_free(agent->uplink);
    spool_close(agent->spool);
    if (agent->lock >= 0)
        (void)close(agent->lock);
    free(agent->cgroup);
    free(agent->dir);
    free(agent);
}
