/*
 * argv: argument vectors as execve() wants them, owned.
 */
#ifndef TAILRACE_SLAVE_STEPS_ARGV_H
#define TAILRACE_SLAVE_STEPS_ARGV_H

#include "proto/msg.h"

/* What a step that has a command runs: its list as it is, or its text through "/bin/sh -ec".
 * argv_free() it. */
char **argv_of_step(const struct msg_step *step);
void argv_free(char **argv); /* NULL allowed */

#endif
