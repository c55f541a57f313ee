/*
 * workspace: the folder a build works in. Each builder has one, DIR/work/BUILDER, kept from build
 * to build; while that is in use a second build of the same builder gets DIR/work/BUILDER+1, and so
 * on ('+' is in no name). Inside:
 *
 *     src              the source tree, where commands run
 *     tmp-BUILD-ATTEMPT  the build's TMPDIR, removed at its end
 *     lock             held by the agent while a build is inside
 */
#ifndef TAILRACE_SLAVE_WORKSPACE_H
#define TAILRACE_SLAVE_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/io/loop.h"

enum { WORKSPACE_MOST = 1024 };

struct workspace;

/* Claims the first free folder and makes it ready. dir need not be absolute. ERR_CONFIG for a
 * builder's name that no folder can have; ERR_IO, ERR_NOSPACE with what could not be made;
 * ERR_LIMIT when WORKSPACE_MOST are in use. What an earlier build left as its tmp is removed on the
 * pool meanwhile; what it put in the place of the folder, of src or of lock, at once. */
enum err_code workspace_claim(struct loop *loop, const char *dir, struct view builder,
                              uint64_t build, uint32_t attempt, struct workspace **out,
                              struct err *err) TAILRACE_MUST_CHECK;
/* Absolute paths; borrowed. */
const char *workspace_source(const struct workspace *workspace);
const char *workspace_tmp(const struct workspace *workspace);
/* Removes tmp, on the pool unless it is empty, then frees the folder for others and the memory, and
 * calls done from the loop. */
void workspace_release(struct workspace *workspace, void (*done)(void *owner), void *owner);
/* Whether the file system the workspace is on has no room left to speak of. */
bool workspace_is_full(const struct workspace *workspace);

#endif
