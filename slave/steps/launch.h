/*
 * launch: starts a step's command: where it runs, and in which environment.
 */
#ifndef TAILRACE_SLAVE_STEPS_LAUNCH_H
#define TAILRACE_SLAVE_STEPS_LAUNCH_H

#include "slave/child.h"
#include "slave/steps/step.h"

/* Borrowed; the sandbox, ops and owner until the child has ended. */
struct launch {
    const struct step_context *context;
    const struct msg_step *spec;
    struct sandbox *sandbox;
    const struct child_ops *ops;
    void *owner;
    uint64_t grace_ms;
};

/* The environment is the attempt's, then the step's, then the command's own, and last the sandbox's
 * mark. Errors as from proc_start(); ERR_NOTFOUND also for a folder that is not there. */
enum err_code launch_command(const struct launch *launch, const struct step_command *command,
                             struct child **out, struct err *err) TAILRACE_MUST_CHECK;

#endif
