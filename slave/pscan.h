/*
 * pscan: what /proc says of running processes: who descends from whom, and which mark they carry in
 * their environment. Linux only. A scan is a look at a moving thing: whoever wants certainty
 * repeats it until it finds nothing.
 */
#ifndef TAILRACE_SLAVE_PSCAN_H
#define TAILRACE_SLAVE_PSCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/vec.h"

struct pscan_process {
    int pid, ppid, sid;
    char state;           /* 'R', 'S', 'Z'... */
    uint64_t start_ticks; /* since boot: with pid it names one process */
};

typedef VEC(struct pscan_process) pscan_list;

/* Appends all processes that live, zombies and kernel threads left out. */
void pscan_all(pscan_list *out);
/* Appends what descends from this process and lives; far cheaper on a busy machine. False where the
 * kernel cannot tell: nothing was appended then. */
bool pscan_descendants(pscan_list *out);
/* False when there is no such process, or it is a zombie. */
bool pscan_get(int pid, struct pscan_process *out);
/* Whether the environment the process was started with holds a variable "NAME=..." that begins with
 * prefix, as "NAME=value". False also when it cannot be read. */
bool pscan_env_starts(int pid, const char *prefix);

#endif
