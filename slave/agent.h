/*
 * agent: one slave: its folder, spool, attempts and uplink, tied together on one loop. The folder
 * is locked, so that two agents never share one, and holds an identity that marks all processes
 * that its builds ever start.
 *
 * Life: agent_new() takes the folder and ends what an earlier run left behind, agent_start() dials;
 * agent_stop() once drains, twice kills; on_stopped comes from the loop, then agent_free().
 */
#ifndef TAILRACE_SLAVE_AGENT_H
#define TAILRACE_SLAVE_AGENT_H

#include "common/base/err.h"
#include "common/io/loop.h"
#include "slave/config.h"

enum {
    AGENT_ACK_WAIT_MS =
        5000, /* how long a drained agent waits for the master's last acknowledgements */
    AGENT_KILL_WAIT_MS = 2000, /* the same after a second stop */
};

struct agent;

/* config is complete (config_complete()) and borrowed for the agent's life. ERR_EXISTS when another
 * agent has the folder. May block for some seconds, for stray processes to die. */
enum err_code agent_new(struct loop *loop, const struct config *config,
                        void (*on_stopped)(void *owner), void *owner, struct agent **out,
                        struct err *err) TAILRACE_MUST_CHECK;
void agent_start(struct agent *agent);
/* First call: no new builds, those that run come to their end and are acknowledged, then
 * on_stopped; at once when nothing runs. What could not be acknowledged stays in the spool for the
 * next start. Second call: what runs is killed and
 * ends as interrupted. */
void agent_stop(struct agent *agent);
/* After on_stopped, or never started. NULL allowed. */
void agent_free(struct agent *agent);

#endif
