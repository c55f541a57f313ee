/*
 * cgroup: folders of a cgroup v2 tree as boxes for processes. Linux only; on other systems, or
 * where nothing is delegated to us, cgroup_home() finds none and all else is never called.
 */
#ifndef TAILRACE_SLAVE_CGROUP_H
#define TAILRACE_SLAVE_CGROUP_H

#include <stdbool.h>

#include "common/base/vec.h"

typedef VEC(int) pid_list;

/* The folder NAME below this process's own cgroup: found through /proc/self/mountinfo, so that it
 * is right in hybrid trees too. Owned; NULL when there is no cgroup2 mount. It need not exist. */
char *cgroup_home(const char *name);
/* Makes the folder and tries with a process of our own whether one can move into a child of it.
 * Blocks for one fork. */
bool cgroup_usable(const char *path);
bool cgroup_make(const char *path);
/* Appends the pids of all processes in it and below. */
void cgroup_pids(const char *path, pid_list *out);
/* Whether any process is in it or below; false also when it is gone. */
bool cgroup_populated(const char *path);
/* KILL to all in it and below at one stroke; where the kernel cannot, it is stopped, killed one by
 * one, let go again. */
void cgroup_kill(const char *path);
/* Removes it and what is below. False while processes are in it; fine when it is gone. */
bool cgroup_remove(const char *path);
/* Calls fn with the path and name of each child. */
void cgroup_children(const char *path, void (*fn)(void *arg, const char *path, const char *name),
                     void *arg);

#endif
