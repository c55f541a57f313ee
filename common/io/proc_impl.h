/*
 * proc_impl: what proc.c (starting, reaping, the owner's calls) and proc_output.c (the pipes)
 * share. For them alone.
 */
#ifndef TAILRACE_COMMON_IO_PROC_IMPL_H
#define TAILRACE_COMMON_IO_PROC_IMPL_H

#include "common/io/proc.h"
#include "common/io/timer.h"

/* One pipe from the child. */
struct channel {
    struct proc *proc;
    enum proc_channel id;
    bool open;
    int fd;
    uv_poll_t poll;
    size_t left; /* once the proc's drain is over: bytes still to be read */
};

struct proc {
    struct proc_table *table;
    struct proc *prev, *next;
    const struct proc_ops *ops; /* NULL once detached */
    void *owner;
    pid_t pid;
    struct channel channels[2];
    int n_channels;
    int open_handles;
    bool paused, reaped;
    bool watched;    /* keeps the loop alive */
    bool drain_over; /* reaped, and whoever else holds a pipe has had its time */
    struct timer drain;
    uint64_t drain_ms, started_ns;
    struct proc_exit exit;
};

struct proc_table {
    struct loop *loop;
    uv_signal_t child_signal;
    struct proc *procs;
    size_t n_watched;
    void (*on_orphan)(void *owner, pid_t pid);
    void *owner;
    bool gone; /* the watch is closed */
};

/* proc.c: ends the proc once it is reaped and its pipes are closed; it may be gone afterwards. */
void proc_settle(struct proc *proc);

/* Adds a pipe; *write_end is the caller's. */
enum err_code proc_add_channel(struct proc *proc, int *write_end,
                               struct err *err) TAILRACE_MUST_CHECK;
/* Any number of times. proc_settle() follows from the loop. */
void channel_close(struct channel *channel);
void channel_poll(struct channel *channel, bool on);
/* Bytes in the pipe now; 0 when it is closed. */
size_t channel_waiting(const struct channel *channel);
/* The drain timer's: reads what is left and closes the pipes. */
void proc_on_drain(struct timer *timer, void *owner);

#endif
