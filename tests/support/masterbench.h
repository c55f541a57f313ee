/*
 * masterbench: all of a master's loop thread but its sockets and pages: builds, registry, desk and
 * reload on a real store in a folder of its own, with a clock that the test moves. Slaves are
 * puppets (puppet.h). What the web would be told is kept as lines:
 *
 *     build 12 running    step 12/1 2 finished    log 12/1 2 3000    points 12/1
 *     slave s busy        slave s gone            pool p 1 0         pool p gone
 *     change 3            config                  config bad         health bad    health good
 *
 * ("pool p QUEUED RUNNING"; "log BUILD/ATTEMPT STEP BYTES".)
 */
#ifndef TAILRACE_TESTS_SUPPORT_MASTERBENCH_H
#define TAILRACE_TESTS_SUPPORT_MASTERBENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/vec.h"
#include "master/builds.h"
#include "master/changes/poller.h"
#include "master/command.h"
#include "master/desk.h"
#include "master/hub.h"
#include "master/registry.h"
#include "master/reload.h"
#include "tests/support/fake_clock.h"
#include "tests/support/puppet.h"

struct masterbench {
    char *folder; /* master.yaml, data/ and what the test puts there */
    struct fake_clock clock;
    struct loop loop;
    struct hub hub;
    struct desk *desk;
    struct reload *reload;
    struct poller *poller; /* NULL unless bench_poll() */
    struct str lines;
    VEC(struct puppet *) puppets;
    struct command *answer; /* the newest */
    bool answered, store_closed;
};

/* A bench with that configuration, running. Fails the test when it is bad. */
struct masterbench *bench_new(const char *yaml);
/* Stops it as a master stops, and frees all, the folder too. */
void bench_free(struct masterbench *bench);
/* As kill -9 and a new start: what is not durable is lost. Connections end. */
void bench_crash(struct masterbench *bench);
/* As SIGTERM and a new start. */
void bench_restart(struct masterbench *bench);
/* Only the new start, after bench_stop(); the file is read again. */
void bench_start(struct masterbench *bench);
void bench_stop(struct masterbench *bench);
/* Writes a file of the folder, mode 0600. */
void bench_write(struct masterbench *bench, const char *name, const char *text);
/* Starts to look for changes. */
void bench_poll(struct masterbench *bench);

/* Runs until nothing moves: all that was posted is durable (unless the store is failing) and all
 * that was sent has arrived. */
void bench_settle(struct masterbench *bench);
/* Moves the clock in small steps, settling after each. */
void bench_advance(struct masterbench *bench, uint64_t ms);
/* No write reaches the disk from now on; and all is well again. Each returns once the loop knows,
 * which for the first takes something to write. */
void bench_disk_full(struct masterbench *bench);
void bench_disk_free(struct masterbench *bench);
/* As bench_disk_full(), without waiting for the loop to know. */
void bench_disk_fill(struct masterbench *bench);

/* Carries out a command; returns it answered, good until the next. */
struct command *bench_ask(struct masterbench *bench, struct command *command);
/* Forces a build and returns its id; settles. revision may be NULL. */
uint64_t bench_force(struct masterbench *bench, const char *builder, const char *revision);
struct command *bench_cancel(struct masterbench *bench, uint64_t build, const char *reason);
/* Writes another master.yaml and reloads it. */
struct command *bench_reload(struct masterbench *bench, const char *yaml);

/* Settles. */
struct puppet *bench_puppet(struct masterbench *bench, const char *name);
struct puppet *bench_puppet_with(struct masterbench *bench, const struct puppet_hello *hello);
/* A slave that is back and holds this one attempt. */
struct puppet *bench_puppet_holding(struct masterbench *bench, const char *name, uint64_t build,
                                    uint32_t attempt, uint64_t last);

/* Whether the web was told that line since bench_clear(). */
bool bench_told(const struct masterbench *bench, const char *line);
void bench_clear(struct masterbench *bench);
/* What is durable. The caller releases. */
struct build_info bench_row(struct masterbench *bench, uint64_t build);
struct attempt_info bench_attempt_row(struct masterbench *bench, uint64_t build, uint32_t attempt);
/* Asserts the durable state and result, and returns what note there is (good until the next call;
 * never NULL). */
const char *bench_expect(struct masterbench *bench, uint64_t build, enum build_state state,
                         enum build_result result);

/* Records, for puppet_record(). */
struct msg record_attempt_started(void);
struct msg record_step_started(uint32_t step);
struct msg record_step_finished(uint32_t step, enum build_result result);
struct msg record_attempt_finished(enum build_result result, const char *reason);
struct msg record_interrupted(const char *reason);
struct msg record_revision(const char *revision);
struct msg record_points(uint32_t step);
/* A block of n bytes 'x' with a newline at the end, at that offset. The data is good until the next
 * call. */
struct msg record_log(uint32_t step, uint64_t offset, uint32_t n);

/* Sends ATTEMPT_STARTED and STEP_STARTED of step 1 (records 1 and 2); settles. */
void bench_begin(struct masterbench *bench, struct puppet *puppet, uint64_t build,
                 uint32_t attempt);
/* Ends it as a slave does: STEP_FINISHED of step 1 and ATTEMPT_FINISHED, from that number on;
 * settles. */
void bench_end(struct masterbench *bench, struct puppet *puppet, uint64_t build, uint32_t attempt,
               uint64_t number, enum build_result result);

/* For cmocka tables: free what a failed test left. */
int bench_teardown(void **state);

#endif
