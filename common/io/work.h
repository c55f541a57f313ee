/*
 * work: a blocking job (reading configuration, removing a tree) on libuv's thread pool, its end
 * reported on the loop.
 */
#ifndef TAILRACE_COMMON_IO_WORK_H
#define TAILRACE_COMMON_IO_WORK_H

#include "common/io/loop.h"

/* run is called on a pool thread with arg and touches nothing else; done is called later on the
 * loop with the same arg. */
void work_start(struct loop *loop, void (*run)(void *arg), void (*done)(void *arg), void *arg);

#endif
