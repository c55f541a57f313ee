/*
 * command: what somebody asks of the loop through the web: posted to the loop, answered by posting
 * the same command back. The fields for the question stay as they are; the answer's are filled in.
 * Durable before answered.
 */
#ifndef TAILRACE_MASTER_COMMAND_H
#define TAILRACE_MASTER_COMMAND_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/io/mailbox.h"
#include "master/model.h"

enum command_kind {
    COMMAND_FORCE,
    COMMAND_CHANGE,
    COMMAND_CANCEL,
    COMMAND_REBUILD,
    COMMAND_SLAVE_DRAIN,
    COMMAND_SLAVE_RESUME,
    COMMAND_POOL_PAUSE,
    COMMAND_POOL_RESUME,
    COMMAND_RELOAD,
    COMMAND_PROBE, /* answers at once: the loop lives */
};

struct command {
    struct mail mail;
    enum command_kind kind;
    /* Called on the web's thread with the answer; the command is then the asker's again. */
    void (*answered)(struct command *command, void *asker);
    void *asker;

    /* question */
    char *name;        /* FORCE, REBUILD: builder; SLAVE_*, POOL_*: whose */
    uint64_t build_id; /* CANCEL, REBUILD (the web has read name, branch and revision of the build
                          from the database) */
    char *branch, *revision, *reason, *author;
    bool has_priority;
    enum priority priority;
    char *idempotency_key;
    struct change_info change_asked; /* CHANGE */

    /* answer; err.code: ERR_NOTFOUND, ERR_CONFIG (bad input), ERR_EXISTS (not in this state),
     * ERR_NOSPACE (the store cannot write), ERR_OK */
    struct err err;
    bool already; /* the same was asked before: what is answered is the first one (of a build only
                     the id, of a change only id and set_id) */
    struct build_info build; /* FORCE, REBUILD; CANCEL: as it is now; only the id when it has
                                finished meanwhile */
    struct change_info change;
    uint64_t *build_ids; /* CHANGE */
    size_t n_build_ids;
    struct slave_info slave;
    struct pool_info pool;
    text_list added, changed, removed, draining; /* RELOAD */
    text_list errors; /* RELOAD: the file's errors; empty when it took effect */
};

struct command *command_new(enum command_kind kind);
void command_free(struct command *command); /* NULL allowed */

#endif
