/*
 * attempts: what this slave holds. Each attempt has a journal from the moment it is known until the
 * master says that it may be forgotten, and a runner while it runs. Whatever happens to an attempt,
 * its journal comes to a proper end.
 *
 *   WAITING -> RUNNING -> ENDED        a slot is free at once, except while a forgotten attempt's
 * processes are still being ended WAITING, RUNNING -> FORGOTTEN      the master wants to hear
 * nothing more: killed, then dropped ENDING -> ENDED                    its end (no slot, a bad
 * job, interrupted by a restart) is still to be written
 *
 * No callback comes from inside a call here except on_change, from those of the runner and from
 * attempts_forget().
 */
#ifndef TAILRACE_SLAVE_ATTEMPTS_H
#define TAILRACE_SLAVE_ATTEMPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "proto/msg.h"
#include "slave/runner.h"
#include "slave/spool.h"

enum { ATTEMPTS_RETRY_MS = 5000 };

struct attempts;

/* host and spool are borrowed; on_change is told when fewer run than before. */
struct attempts *attempts_new(const struct runner_host *host, struct spool *spool, uint32_t slots,
                              void (*on_change)(void *owner), void *owner);
/* None may be running. NULL allowed. */
void attempts_free(struct attempts *attempts);

/* Once, after a restart: takes up the journals that the spool found. Those without an end get one:
 * interrupted. machine_boot tells a reboot from a restart, when journals were tagged with it. */
void attempts_take_up(struct attempts *attempts, const char *machine_boot);
/* Runs it. What cannot be run has a journal that says why. One that is held already is left alone.
 * An error is the reason why not even a journal could be made. */
enum err_code attempts_start(struct attempts *attempts, const struct msg_start *start,
                             struct err *err) TAILRACE_MUST_CHECK;
/* Unknown and ended attempts are left alone. */
void attempts_cancel(struct attempts *attempts, uint64_t build, uint32_t number,
                     const char *reason);
/* The agent stops now: whatever runs is killed and ends as interrupted, so that the master runs it
 * again elsewhere. What is still started ends so at once. */
void attempts_interrupt_all(struct attempts *attempts, const char *reason);
void attempts_forget(struct attempts *attempts, uint64_t build, uint32_t number);
/* The spool has room again. Not from inside a callback of the spool. */
void attempts_resume(struct attempts *attempts);
/* How many run, are to run, or are being killed. */
uint32_t attempts_active(const struct attempts *attempts);
/* Whether any attempt has records that the master has not acknowledged. */
bool attempts_unacknowledged(const struct attempts *attempts);

#endif
