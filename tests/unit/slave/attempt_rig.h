/*
 * attempt_rig: runs attempts with the real runner, spool, loop and processes in a folder of its
 * own, and reads the journal back as somebody would who has nothing else: records in order, logs
 * inflated.
 */
#ifndef TAILRACE_TESTS_UNIT_SLAVE_ATTEMPT_RIG_H
#define TAILRACE_TESTS_UNIT_SLAVE_ATTEMPT_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/base/vec.h"
#include "proto/codec.h"
#include "slave/runner.h"

enum { RIG_STEPS_MAX = 8, RIG_SECONDS = 100 };

struct rig_step {
    bool started, finished;
    enum build_result result;
    int64_t exit_code;
    char reason[513];
    uint32_t killed;
    double user_s, system_s;
    uint64_t max_rss_bytes;
    struct str log[2];
};

struct rig_point {
    char suite[65], test[65], metric[65], unit[65];
    uint32_t better, iteration;
    double value;
};

struct rig {
    struct loop loop;
    char dir[64];
    char mark[48];
    char *cgroup;
    bool use_cgroup; /* when there is one; before rig_start() */
    uint64_t spool_limit_bytes;
    struct spool *spool;
    struct journal *journal;
    struct runner_host host;
    struct runner *runner; /* NULL once it has finished */
    bool room;             /* the spool said that it has room again */
    bool keep_up;          /* acknowledge what is read, as a master would; default true */

    struct msg_arena *arena;
    struct rig_step steps[RIG_STEPS_MAX + 1]; /* by number, from 1 */
    unsigned attempts_started;
    bool finished; /* ATTEMPT_FINISHED was read */
    enum build_result result;
    char reason[513];
    char revision[129];
    VEC(struct rig_point) points;
};

/* Aborts the test program when it hangs for RIG_SECONDS. */
void rig_open(struct rig *rig);
void rig_close(struct rig *rig); /* nothing may run any more; removes the folder */

/* Builds START messages: a build 7 of builder "b" with these steps. */
struct msg_start rig_job(const struct msg_step *steps, size_t n);
struct msg_step rig_shell(const char *name, const char *text);

/* Forgets what an earlier attempt left, and starts. */
void rig_start(struct rig *rig, const struct msg_start *start);
/* Until the runner has finished; reads all. */
void rig_run(struct rig *rig, const struct msg_start *start);
void rig_finish(struct rig *rig);
/* One turn of the loop, then reads what is new in the journal. */
void rig_turn(struct rig *rig);
/* Until the step's log holds text. */
void rig_until_log(struct rig *rig, uint32_t step, const char *text);
const char *rig_log(struct rig *rig, uint32_t step);
bool rig_log_has(struct rig *rig, uint32_t step, const char *text);
/* How many processes carry this rig's mark, zombies left out. */
size_t rig_strays(const struct rig *rig);
/* Appends to a path inside the rig's folder; owned. */
char *rig_path(const struct rig *rig, const char *name);
/* Runs a shell command in the rig's folder and waits; it must succeed. The end of its output line
 * is cut. Owned. */
char *rig_sh(struct rig *rig, const char *text);

#endif
