/*
 * sched: which request gets which slot. Pure: requests and slaves in, assignments out; it knows
 * neither time nor connections.
 *
 * A pool's queue is ordered by (priority class, id), strictly, over all builders and
 * branches. A slot takes the first request that it can serve. Requests that the same slaves can
 * serve share a lane, a heap, so a look costs O(lanes + log n), and a request that nobody free can
 * serve does not hold up those behind it.
 */
#ifndef TAILRACE_MASTER_SCHED_H
#define TAILRACE_MASTER_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"
#include "master/model.h"

struct sched;
struct sched_lane;
struct sched_slave;

/* Embedded in its owner; the owner sets the first part, and keeps it unchanged while queued. */
struct sched_request {
    const char *pool;
    const char *builder;
    const text_list *needs; /* labels a slave must have; NULL for none */
    bool limited;           /* ask may_start() before it starts */
    enum priority priority;
    uint64_t id;
    void *owner;

    struct sched_lane *lane; /* the scheduler's; NULL while not queued */
    size_t index;
};

/* Whether one more build of that builder may run now; asked for requests with `limited` only. */
typedef bool (*sched_may_start)(void *owner, const char *builder);

struct sched *sched_new(sched_may_start may_start, void *owner);
void sched_free(struct sched *sched);

/* Queues and unqueues a request (unqueueing one that is not queued is fine). */
void sched_add(struct sched *sched, struct sched_request *request);
void sched_remove(struct sched *sched, struct sched_request *request);
size_t sched_queued(const struct sched *sched, const char *pool);
/* A paused pool keeps its queue and starts nothing. */
void sched_pause(struct sched *sched, const char *pool, bool paused);
bool sched_is_paused(const struct sched *sched, const char *pool);
/* Something that may_start() answers for has changed. */
void sched_unblock(struct sched *sched);

/* A slave with free slots. The lists are copied. */
struct sched_slave *sched_slave_new(struct sched *sched, const text_list *pools,
                                    const text_list *labels, void *owner);
void sched_slave_free(struct sched_slave *slave); /* NULL allowed */
void sched_slave_set_free(struct sched_slave *slave, uint32_t slots);

struct sched_match {
    struct sched_request *request;
    void *slave; /* the slave's owner */
};

/* The next assignment in order, or false. The request is unqueued and one slot of the slave is
 * taken. Of several slaves the one that was free longest gets it. */
bool sched_next(struct sched *sched, struct sched_match *match);

#endif
