/*
 * builds: all unfinished builds, and what happens to them: asked for, waiting, queued, handed to a
 * slave, cancelled, finished. Loop thread.
 *
 * What others can see (events, answers, ACKs) follows the disk: every change is decided here,
 * posted to the store, and told once durable.
 */
#ifndef TAILRACE_MASTER_BUILDS_H
#define TAILRACE_MASTER_BUILDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "master/build.h"
#include "master/hub.h"

struct builds *builds_new(struct hub *hub);
void builds_free(struct builds *builds); /* after the store has stopped */
/* Takes up what an earlier run left: queued builds are queued again, running ones are detached
 * until their slaves return. */
void builds_restore(struct builds *builds, const struct store_snapshot *snapshot);

struct hub *builds_hub(struct builds *builds);
struct sched *builds_sched(struct builds *builds);
struct msg_arena *builds_arena(struct builds *builds); /* for decoding records; one use at a time */
struct builder_line *builds_line(struct builds *builds, const char *builder);
struct build *builds_find(struct builds *builds,
                          uint64_t id); /* unfinished ones only; may be NULL */
void builds_emit_build(struct builds *builds, const struct build_info *info);

/* What somebody asks for. Texts are borrowed for the call. */
struct builds_request {
    const struct config_project *project;
    const struct config_builder
        *only; /* this builder and those after it; NULL: every builder of the branch */
    const char *branch, *revision; /* revision NULL: the branch's tip when the build starts */
    const char *reason, *author;
    const enum priority *priority;    /* NULL: each builder's own */
    const struct change_info *change; /* makes a change too; NULL: none */
    const char *idempotency_key;
    uint64_t rebuild_of_id;
};

/* The answer, on the loop, once durable: code ERR_OK, or ERR_EXISTS when the same was asked for
 * before (op->existing_*). op->builds, op->change and op->set are what was asked for; good during
 * the call. */
typedef void (*builds_created)(void *owner, const struct store_op *op);

/* Makes a set with its builds. ERR_CONFIG when no builder would run (a change still is recorded
 * then, and created is called). */
enum err_code builds_create(struct builds *builds, const struct builds_request *request,
                            builds_created created, void *owner,
                            struct err *err) TAILRACE_MUST_CHECK;

/* Asks for the build's end; done is called once that is durable. ERR_NOTFOUND: no unfinished build
 * of that id. *already: it was being cancelled. */
enum err_code builds_cancel(struct builds *builds, uint64_t id, const char *reason, bool *already,
                            struct err *err) TAILRACE_MUST_CHECK;

/* The build's end, whatever led to it. Its row, and the rows of the builds that waited for it, go
 * into one operation, so that no crash can part them: op when the caller has one to go along (taken
 * over), else a new STORE_BUILD. Once durable it is told and the build is freed. note may be NULL.
 */
void builds_finish(struct build *build, enum build_result result, const char *note,
                   struct store_op *op);
/* Hands queued builds to free slots until nothing fits. Cheap when nothing can start. */
void builds_dispatch(struct builds *builds);
struct agent;

/* A slave is back, and what it still holds was attached: attempts of it that it does not hold were
 * never heard of there (START is sent again), or are lost. */
void builds_not_held(struct builds *builds, struct agent *agent);
/* A new configuration is in force. */
void builds_reconfigure(struct builds *builds);
/* Tells the web of every unfinished build: after the start. */
void builds_emit_all(struct builds *builds);
/* Whether any attempt of that slave is not over, and stored, yet. */
bool builds_slave_works(struct builds *builds, const char *slave);
/* Running builds of a pool, for its counters: computed from the builds. */
void builds_count(struct builds *builds, const char *pool, uint32_t *queued, uint32_t *running);

#endif
