/*
 * builds_private: what the files of builds share: builds.c (waiting, ends, dispatch),
 * builds_create.c (what somebody asks for), builds_restore.c (what an earlier run left).
 */
#ifndef TAILRACE_MASTER_BUILDS_PRIVATE_H
#define TAILRACE_MASTER_BUILDS_PRIVATE_H

#include "master/builds.h"

struct builds {
    struct hub *hub;
    struct sched *sched;
    struct msg_arena *arena;
    struct build *table; /* by id */
    struct builder_line *lines;
    uint64_t last_set, last_build, last_change;
};

/* A build in no state yet, in the table and fitted to the configuration in force. The strings are
 * copied. */
struct build *builds_add(struct builds *builds, const struct build_info *info);
/* Enters BUILD_WAITING, with its limit. */
void builds_wait(struct build *build, const char *why);
/* id waits for waits_for; nothing when one of them is unknown. */
void builds_link(struct builds *builds, uint64_t id, uint64_t waits_for);
/* Enters BUILD_QUEUED; ends at once when its builder is gone, or when another stands for it. */
void builds_enqueue(struct build *build, const char *why);

#endif
