/*
 * registry: the slaves that the configuration knows, connected or not, and every connection.
 * Decides who may come in, when two use one name, and keeps the scheduler's picture of free slots.
 * Loop thread.
 */
#ifndef TAILRACE_MASTER_REGISTRY_H
#define TAILRACE_MASTER_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "common/io/stream.h"
#include "master/config.h"
#include "master/hub.h"
#include "master/sched.h"

struct agent;

struct slave {
    char *name;
    struct config *config;          /* the configuration that `def` stands in */
    const struct config_slave *def; /* NULL: left the configuration, still has work */
    text_list secrets;              /* as in def, or as they were when it left */
    struct agent *agent;            /* NULL: not connected */
    struct sched_slave *seat;       /* in the scheduler while connected */
    bool drained;                   /* by an operator; survives restarts */
    bool tell;                      /* changed since the web was told last */
    bool incompatible;              /* the last HELLO had no common version */
    char *reason;                   /* why drained, refused or offline */
    char *version, *platform;       /* as last heard */
    int64_t connected_ms, last_seen_ms;
    UT_hash_handle hh;
};

struct registry *registry_new(struct hub *hub, const struct store_snapshot *snapshot);
void registry_free(struct registry *registry);
/* All connections end, each slave being told why. */
void registry_close(struct registry *registry, const char *why);
bool registry_is_closed(const struct registry *registry); /* no connection is left */

/* A slave dialled. */
void registry_accept(struct registry *registry, struct stream *stream);

/* From agents. */
void registry_hello(struct registry *registry, struct agent *agent);
void registry_proved(struct registry *registry, struct agent *agent);
void registry_state(struct registry *registry, struct agent *agent, bool draining);
void registry_lost(struct registry *registry, struct agent *agent, const struct err *why);
void registry_slots_changed(struct registry *registry, struct agent *agent);
void registry_ack_later(struct registry *registry, struct agent *agent);

/* From builds; a serial whose connection is gone is fine. */
void registry_granted(struct registry *registry, uint64_t serial, size_t bytes);
void registry_forget(struct registry *registry, uint64_t serial, uint64_t build, uint32_t attempt);
/* An attempt of that slave is over and forgotten: perhaps the last that kept it here. */
void registry_work_gone(struct registry *registry, const char *name);
/* The store's batch is told: send the ACKs that it made due. */
void registry_flush_acks(struct registry *registry);

/* Drains (no new builds) or resumes a slave; stored. ERR_NOTFOUND. *info is filled for the answer.
 */
enum err_code registry_drain(struct registry *registry, const char *name, bool drain,
                             const char *reason, struct slave_info *info,
                             struct err *err) TAILRACE_MUST_CHECK;
/* A new configuration is in force: slaves that left it drain, then leave. Their names are added to
 * *draining. */
void registry_reconfigure(struct registry *registry, text_list *draining);
/* Fills an empty info. */
void registry_pool_info(struct registry *registry, const struct config_pool *pool,
                        struct pool_info *info);
/* Changes of slaves and pools are told to the web together, soon; this tells now what is due. */
void registry_tell(struct registry *registry);
/* Tells the web about a pool's counters; several within one pass are told once, soon. */
void registry_emit_pool(struct registry *registry, const char *pool);
/* Tells all slaves and pools: after start and reload. */
void registry_emit_all(struct registry *registry);

#endif
