/*
 * proc_spawn: the fork and exec of proc.c. It returns once the child's program runs or has failed
 * to.
 */
#ifndef TAILRACE_COMMON_IO_PROC_SPAWN_H
#define TAILRACE_COMMON_IO_PROC_SPAWN_H

#include <sys/types.h>

#include "common/io/proc.h"

/*
 * Starts spec's program as proc_start() says, with out and err as its standard output and error
 * (borrowed; may be the same). On failure no child is left.
 */
enum err_code proc_spawn(const struct proc_spec *spec, int out, int error_out, pid_t *pid,
                         struct err *err) TAILRACE_MUST_CHECK;

#endif
