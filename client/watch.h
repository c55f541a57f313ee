/*
 * watch: follows a build to its end by the master's event stream, over restarts of the master. On a
 * terminal it draws one line over and over, elsewhere it prints a line for each change.
 */
#ifndef TAILRACE_CLIENT_WATCH_H
#define TAILRACE_CLIENT_WATCH_H

#include <stdint.h>

#include "client/cli.h"
#include "common/base/json_in.h"

/*
 * Waits for the build's end and tells of it on cli->out; with --json tells of it on standard error
 * and prints the finished build on cli->out. first is the build as an earlier answer gave it, or
 * NULL. Returns CLI_OK for success and warnings, CLI_FAILED for other ends, CLI_TROUBLE when there
 * is no such build, no master at the beginning, or none for an hour.
 */
int watch_build(struct cli *cli, uint64_t id, const struct json *first);

#endif
