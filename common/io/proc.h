/*
 * proc: one child process. We fork and exec ourselves rather than through libuv: the child must be
 * in a session and a cgroup of its own before its first instruction, wait4() gives the resources it
 * used, and with PR_SET_CHILD_SUBREAPER the orphans of a step become our children and must be
 * reaped here too.
 *
 * A child is finished when it has been reaped and its output is at its end. Whoever else still
 * holds the pipe gets drain_ms after the exit; everything the child itself wrote is in the pipe by
 * then and is always read.
 *
 * One SIGCHLD watcher for a loop reaps all children and all adopted orphans; nothing else in the
 * process may wait for children. Callbacks come from the loop only.
 */
#ifndef TAILRACE_COMMON_IO_PROC_H
#define TAILRACE_COMMON_IO_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/io/loop.h"

struct proc;

enum proc_channel { PROC_OUT, PROC_ERR };

struct proc_spec {
    char *const *argv;        /* argv[0] is searched in the PATH of env */
    char *const *env;         /* the whole environment, "K=V", NULL-terminated */
    const char *dir;          /* working folder; NULL: ours */
    const char *cgroup_procs; /* a cgroup.procs file the child writes itself into; NULL: none */
    bool separate_stderr;     /* else standard error goes into the same pipe */
    bool start_paused;        /* begin as after proc_pause_output() */
    uint64_t drain_ms;        /* see above */
};

struct proc_exit {
    int code;   /* exit status, -1 when a signal ended it */
    int signal; /* 0 when it exited */
    double wall_s, user_s, system_s;
    uint64_t max_rss_bytes;
};

struct proc_ops {
    /* Output; good during the call. Never while paused. */
    void (*on_output)(void *owner, enum proc_channel channel, struct view bytes);
    /* Reaped; output may still come. May be NULL. */
    void (*on_exit)(void *owner, const struct proc_exit *exit);
    /* Reaped and output at its end. Last call; proc is gone after it. */
    void (*on_finished)(void *owner, const struct proc_exit *exit);
};

/* Starts the child in a new session, standard input from /dev/null, all other descriptors closed,
 * signals at their defaults. The spec is borrowed for the call. ERR_NOTFOUND when the program or
 * the folder does not exist, ERR_IO else; *out is good until on_finished. */
enum err_code proc_start(struct loop *loop, const struct proc_spec *spec,
                         const struct proc_ops *ops, void *owner, struct proc **out,
                         struct err *err) TAILRACE_MUST_CHECK;
pid_t proc_pid(const struct proc *proc); /* also its session and group */
/* Stops reading: the child blocks once its pipe is full. Never loses bytes; on_finished waits until
 * resumed. */
void proc_pause_output(struct proc *proc);
void proc_resume_output(struct proc *proc);
/* Bytes waiting in the pipe now, and how many it holds. */
size_t proc_waiting_bytes(const struct proc *proc);
size_t proc_pipe_bytes(const struct proc *proc);
/* As if drain_ms of the spec had been this, counted from now when the child has been reaped. */
void proc_set_drain(struct proc *proc, uint64_t drain_ms);
/* Sends a signal to the child's process group. Nothing happens after it was reaped. */
void proc_signal(struct proc *proc, int signal);
/* Nobody is called any more; the child runs on and is reaped. For a stopping program. */
void proc_detach(struct proc *proc);

/* Whether this is a child that proc_start() made on this loop, and not an orphan. */
bool proc_is_child(const struct loop *loop, pid_t pid);
/* Called for each adopted orphan that was reaped; NULL for none. */
void proc_on_orphan(struct loop *loop, void (*fn)(void *owner, pid_t pid), void *owner);
/* Closes the SIGCHLD watcher; before loop_release(). Children still running are detached. */
void proc_table_close(struct loop *loop);

#endif
