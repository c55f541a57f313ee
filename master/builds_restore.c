/* What an earlier run left. */
#include <stdlib.h>

#include "common/base/mem.h"
#include "master/attempt.h"
#include "master/builds_private.h"

static void restore_build(struct builds *builds, const struct build_info *stored)
{
    struct build *build = builds_add(builds, stored);

    if (stored->state == BUILD_WAITING)
        builds_wait(build, "the master started");
    else
        build_enter(build, stored->state == BUILD_QUEUED ? BUILD_QUEUED : BUILD_DETACHED,
                    "the master started");
}

/* What it waited for ended while nobody looked: an attempt's last record was durable, and its
 * build's end was concluded from it at the start. */
static void restore_waiting(struct build *build, const struct store_snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->n_waits; i++) {
        enum build_result result = snapshot->wait_results[i];
        char *note;

        if (snapshot->waits[i][0] != build->info.id || result == RESULT_NONE ||
            result == RESULT_SUCCESS || result == RESULT_WARNINGS)
            continue;
        note = xasprintf("build %llu ended with %s", (unsigned long long)snapshot->waits[i][1],
                         result_name(result));
        builds_finish(build, RESULT_SKIPPED, note, NULL);
        free(note);
        return;
    }
    if (build->waits_for.n > 0)
        return;
    timer_stop(&build->deadline);
    builds_enqueue(build, "what it waited for has succeeded");
    if (build->info.state == BUILD_QUEUED)
        build_save(build);
}

void builds_restore(struct builds *builds, const struct store_snapshot *snapshot)
{
    struct build *build, *next;

    builds->last_set = snapshot->last_set;
    builds->last_build = snapshot->last_build;
    builds->last_change = snapshot->last_change;
    for (size_t i = 0; i < snapshot->n_builds; i++)
        restore_build(builds, &snapshot->builds[i]);
    for (size_t i = 0; i < snapshot->n_attempts; i++) {
        build = builds_find(builds, snapshot->attempts[i].build_id);
        if (build && build->info.state == BUILD_DETACHED)
            attempt_restore(build, &snapshot->attempts[i], snapshot->attempt_steps[i]);
    }
    for (size_t i = 0; i < snapshot->n_waits; i++)
        builds_link(builds, snapshot->waits[i][0], snapshot->waits[i][1]);
    for (size_t i = 0; i < snapshot->n_paused; i++)
        sched_pause(builds->sched, snapshot->paused_pools[i], true);
    HASH_ITER (hh, builds->table, build, next) {
        if (build->info.state == BUILD_WAITING)
            restore_waiting(build, snapshot);
        else if (build->info.state == BUILD_QUEUED && !build->def)
            builds_finish(build, RESULT_EXCEPTION, "its builder is no longer configured", NULL);
        else if (build->info.state == BUILD_DETACHED && !build->attempt)
            attempt_restore_lost(build, "its slave went down in the middle of it");
        else if (build->info.state == BUILD_DETACHED && build->info.cancel)
            attempt_lose(build->attempt, "cancelled before the master went down");
    }
}
