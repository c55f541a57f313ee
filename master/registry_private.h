/*
 * registry_private: what the files of registry share: registry_door.c (connections that are
 * nobody's yet), registry.c (who may come in, who has gone), registry_tell.c (what the web is told
 * of it).
 */
#ifndef TAILRACE_MASTER_REGISTRY_PRIVATE_H
#define TAILRACE_MASTER_REGISTRY_PRIVATE_H

#include "common/io/timer.h"
#include "master/registry.h"

struct registry {
    struct hub *hub;
    struct slave *slaves;
    struct agent *agents; /* all connections, by serial */
    struct agent *ack_first;
    uint64_t last_serial;
    struct timer tell_timer;
    text_list slaves_due, pools_due; /* names of what has changed since it was told last */
    uint64_t say_since_ms;           /* how many connections were turned away since then */
    unsigned say_n;
    bool closing;
};

struct slave *registry_find_slave(struct registry *registry, const char *name);
/* How many builds it may run at once. */
uint32_t slave_slots(const struct slave *slave);
bool slave_takes_work(const struct slave *slave);
/* Fills an empty info. */
void slave_fill(const struct slave *slave, struct slave_info *info);
/* Tells the web about the slave and its pools, soon. */
void registry_emit_slave(struct registry *registry, struct slave *slave);
/* Logs why a connection ended that was no slave's; when there are many, only how many. */
void registry_say_turned_away(struct registry *registry, const struct agent *agent,
                              const struct err *why);
/* The tell_timer's. */
void registry_on_tell(struct timer *timer, void *owner);

#endif
