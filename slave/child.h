/*
 * child: one command of a step with everything that it starts, from exec to the last of them. The
 * command ends when its own process ends, whoever still holds its pipe:
 *
 *   RUNNING -> DRAINING  the process has ended; CHILD_DRAIN_MS for others to write what they have
 * and let go of the pipe DRAINING -> ENDING   what is left inside the sandbox is being ended; what
 * it writes meanwhile still counts RUNNING -> ENDING    child_stop()
 *
 * A silent child is not read while it runs, so that its pipe does not wake us: its output is taken
 * when it has ended. A look once a second, beginning with the second second, takes it earlier when
 * more than half of the pipe is full.
 */
#ifndef TAILRACE_SLAVE_CHILD_H
#define TAILRACE_SLAVE_CHILD_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/io/proc.h"
#include "slave/sandbox.h"

enum { CHILD_DRAIN_MS = 200, CHILD_SILENT_LOOK_MS = 1000 };

struct child;

struct child_spec {
    char *const *argv;
    char *const *env; /* the sandbox's mark included */
    const char *dir;
    bool separate_stderr;
    bool silent;
    uint64_t grace_ms; /* for what the command leaves behind */
};

struct child_end {
    struct proc_exit exit;
    unsigned left;   /* processes besides the command that had to be ended */
    unsigned killed; /* how many, of all, by KILL */
    bool stuck; /* the command itself hangs in the kernel and could not be ended; exit says nothing
                 */
};

/* From the loop. */
struct child_ops {
    void (*on_output)(void *owner, enum proc_channel channel, struct view bytes);
    /* A silent child wrote something that was not read yet. */
    void (*on_sign_of_life)(void *owner);
    /* Nothing runs any more and all output came. The child is gone. */
    void (*on_ended)(void *owner, const struct child_end *end);
};

/* The sandbox is borrowed until on_ended. Errors as from proc_start(). */
enum err_code child_start(struct loop *loop, struct sandbox *sandbox, const struct child_spec *spec,
                          const struct child_ops *ops, void *owner, struct child **out,
                          struct err *err) TAILRACE_MUST_CHECK;
/* Holds the output back at the pipe, or lets it go again. */
void child_hold(struct child *child, bool hold);
/* Ends it and all that is inside: TERM, grace, KILL. Again: may shorten the grace. */
void child_stop(struct child *child, uint64_t grace_ms);
/* Whether the command's own process still runs and nobody has asked for its end. */
bool child_is_running(const struct child *child);

#endif
