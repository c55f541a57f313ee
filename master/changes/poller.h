/*
 * poller: looks for new heads of the projects' branches: one `git ls-remote` for each project and
 * period. A head that it did not know becomes a change; what lies between two looks does not.
 * Force-pushes are new heads; a deleted branch is forgotten, so that it builds again when it
 * returns. Loop thread.
 */
#ifndef TAILRACE_MASTER_CHANGES_POLLER_H
#define TAILRACE_MASTER_CHANGES_POLLER_H

#include <stdbool.h>

#include "master/hub.h"

struct poller;

/* Takes the heads that are known from the snapshot. Polls nothing before poller_start(). */
struct poller *poller_new(struct hub *hub, const struct store_snapshot *snapshot);
void poller_start(struct poller *poller);
/* A new configuration is in force: new projects are looked at now. */
void poller_reconfigure(struct poller *poller);
/* Whether a look is under way. For tests. */
bool poller_is_looking(const struct poller *poller);
/* Stops looking; children under way are left to end by themselves. */
void poller_free(struct poller *poller);

#endif
