/*
 * master: the whole master in one object: three threads, their start and their stop.
 */
#ifndef TAILRACE_MASTER_MASTER_H
#define TAILRACE_MASTER_MASTER_H

#include "common/base/err.h"

/* Loads the configuration, starts, runs until SIGTERM or SIGINT, stops. ERR_OK after a clean stop.
 * Everything that goes wrong before the loop runs is in *err; a configuration's errors are printed
 * to standard error, one a line, and the sentence says how many. */
enum err_code master_run(const char *config_path, struct err *err) TAILRACE_MUST_CHECK;

#endif
