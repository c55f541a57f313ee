/*
 * sandbox: the processes of one step as one thing that can be found and ended, whatever they did to
 * get away. A step's command runs in a session of its own, in a cgroup v2 of its own where the
 * slave may make one; besides, every process carries a mark in its environment, and the agent is a
 * subreaper, so that double-forked daemons are found through /proc either way. Without a cgroup,
 * what left the session and wiped its environment is taken for ours only while no other sandbox
 * lives.
 *
 * Linux only; cgroups and /proc are looked at by cgroup.c and pscan.c.
 */
#ifndef TAILRACE_SLAVE_SANDBOX_H
#define TAILRACE_SLAVE_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/io/loop.h"

struct sandbox;

/* How long after KILL something may still be there (it hangs in the kernel) before it is given up.
 */
enum { SANDBOX_GIVE_UP_MS = 30 * 1000 };

/* Once at start: become subreaper; returns an owned path of a cgroup folder that children may be
 * made in, or NULL when there is none (not root, nothing delegated, no cgroup2 mount). The folder
 * itself is there only while sandboxes are. What is empty in it, left by an earlier run, is
 * removed. Forks once, so it comes before the first proc_start(). */
char *sandbox_setup(const char *mark);
/* After a restart: kills what still carries this mark (all attempts, or those of build and attempt
 * when build is not 0), waits until nothing is left, at most 5 s. Returns how many were found. */
unsigned sandbox_sweep(const char *mark, uint64_t build, uint32_t attempt);

/* A place for one step's processes. cgroup may be NULL. */
struct sandbox *sandbox_new(struct loop *loop, const char *cgroup, const char *mark, uint64_t build,
                            uint32_t attempt, uint32_t step);
void sandbox_free(struct sandbox *sandbox); /* NULL allowed; nothing may be left running */
/* For proc_spec.cgroup_procs; NULL without a cgroup. */
const char *sandbox_cgroup_procs(const struct sandbox *sandbox);
/* "TAILRACE_MARK=..." for the environment. */
const char *sandbox_env(const struct sandbox *sandbox);
/* The command's own pid, once started: its session counts as inside, also when the command has been
 * reaped. */
void sandbox_adopt(struct sandbox *sandbox, int pid);

/* Ends everything inside: TERM to all, after grace_ms KILL (stopped first, so that nothing forks
 * away), repeated until nothing is left. done is called from the loop, with how many processes
 * other than the command itself were alive when it began and how many, of all, had to be ended by
 * KILL. Calling it again while it runs may shorten the grace, nothing else; after done the sandbox
 * can be used again. */
void sandbox_end(struct sandbox *sandbox, uint64_t grace_ms,
                 void (*done)(void *owner, unsigned found, unsigned killed), void *owner);

#endif
