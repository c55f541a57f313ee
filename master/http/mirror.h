/*
 * mirror: the web's picture of what the loop holds, made from the loop's events alone: the
 * configuration in force, slaves, pools, and the builds that are not finished. Web thread.
 */
#ifndef TAILRACE_MASTER_HTTP_MIRROR_H
#define TAILRACE_MASTER_HTTP_MIRROR_H

#include <stdbool.h>
#include <uthash.h>

#include "master/config.h"
#include "master/event.h"
#include "master/model.h"

struct mirror_build {
    struct build_info info;
    bool waits_known; /* waits was read from the database */
    VEC(uint64_t) waits;
    int64_t ends_ms; /* plan's guess; 0: none */
    UT_hash_handle hh;
};

struct mirror_slave {
    struct slave_info info;
    UT_hash_handle hh;
};

struct mirror_pool {
    struct pool_info info;
    UT_hash_handle hh;
};

struct mirror {
    struct config *config;
    char *config_error;          /* of the newest reload; NULL: it took effect */
    char *store_error;           /* NULL: the store can write */
    struct mirror_build *builds; /* by id, oldest first */
    struct mirror_slave *slaves; /* by name, sorted by it */
    struct mirror_pool *pools;   /* by name, sorted by it */
    bool unsorted;
};

/* Takes a reference of the configuration. */
void mirror_init(struct mirror *mirror, struct config *config);
void mirror_release(struct mirror *mirror);

/* What the event tells becomes true here; the event stays the caller's. */
void mirror_apply(struct mirror *mirror, const struct event *event);

/* NULL when there is none. */
struct mirror_build *mirror_find_build(const struct mirror *mirror, uint64_t id);
const struct slave_info *mirror_find_slave(const struct mirror *mirror, const char *name);
const struct pool_info *mirror_find_pool(const struct mirror *mirror, const char *name);

/* The first by name, for a walk along hh.next. */
struct mirror_slave *mirror_slaves(struct mirror *mirror);
struct mirror_pool *mirror_pools(struct mirror *mirror);

#endif
