/*
 * desk: where commands (force, cancel, drain...) are carried out on the loop and answered once what
 * they did is durable.
 */
#ifndef TAILRACE_MASTER_DESK_H
#define TAILRACE_MASTER_DESK_H

#include "master/command.h"
#include "master/hub.h"

struct desk;

struct desk_ops {
    /* Takes the command back to its asker. */
    void (*answer)(void *owner, struct command *command);
    /* COMMAND_RELOAD, which is the master's own business; answered by desk_answer(). */
    void (*reload)(void *owner, struct command *command);
};

struct desk *desk_new(struct hub *hub, const struct desk_ops *ops, void *owner);
void desk_free(struct desk *desk);
/* Takes over the command until it is answered. */
void desk_take(struct desk *desk, struct command *command);
void desk_answer(struct desk *desk, struct command *command);

#endif
