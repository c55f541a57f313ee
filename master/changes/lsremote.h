/*
 * lsremote: reads the output of `git ls-remote --heads`. Pure.
 */
#ifndef TAILRACE_MASTER_CHANGES_LSREMOTE_H
#define TAILRACE_MASTER_CHANGES_LSREMOTE_H

#include <stdbool.h>

#include "common/base/str.h"

/* Takes the next "REVISION<tab>refs/heads/BRANCH" line out of *text. false at the end. Lines of
 * another form are passed over. */
bool lsremote_next(struct view *text, struct view *revision, struct view *branch);

#endif
