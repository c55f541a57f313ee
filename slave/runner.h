/*
 * runner: runs one attempt's steps, one after another, and writes all that happens into its
 * journal; that is the only way in which anything is reported. Knows nothing of connections.
 */
#ifndef TAILRACE_SLAVE_RUNNER_H
#define TAILRACE_SLAVE_RUNNER_H

#include "common/io/loop.h"
#include "slave/job.h"
#include "slave/spool.h"

struct runner;

/* What the machine offers to runners; borrowed for their life. */
struct runner_host {
    struct loop *loop;
    const char *dir;  /* the slave's folder: DIR/work/BUILDER, DIR/mirrors */
    const char *name; /* the slave's name */
    const char
        *mark; /* names this slave folder in the environment of all its processes (sandbox.h) */
    const char *cgroup; /* a cgroup v2 folder that we may make children in, or NULL */
};

struct runner_ops {
    /* The attempt's last record is in the journal, nothing of it runs any more. The runner is gone
     * after it. */
    void (*on_finished)(void *owner);
};

/* Begins at once (ATTEMPT_STARTED goes into the journal from inside the call). Takes over job. */
struct runner *runner_start(const struct runner_host *host, struct job *job,
                            struct journal *journal, const struct runner_ops *ops, void *owner);
/* Ends the running step's whole process tree (TERM, grace, KILL) and the attempt with `cancelled`.
 * Any number of times. */
void runner_cancel(struct runner *runner, const char *reason);
/* As cancel, but nothing is journalled any more and the journal is not touched again; on_finished
 * comes when all processes are gone. */
void runner_forget(struct runner *runner);
/* The spool has room again. */
void runner_resume(struct runner *runner);

#endif
