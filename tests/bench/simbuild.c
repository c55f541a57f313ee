#include "tests/bench/simbuild.h"

#include <assert.h>

/* Where a record stands. */
struct place {
    enum msg_type type;
    uint32_t step;
    uint64_t block;
};

static uint64_t first_step_records(const struct simbuild *build)
{
    return 2 + build->log->n_blocks;
}

void simbuild_init(struct simbuild *build, const struct msg_start *start, const struct simlog *log,
                   bool held)
{
    uint32_t n_steps = (uint32_t)start->steps.n;

    *build = (struct simbuild){
        .id = start->build, .attempt = start->attempt, .n_steps = n_steps, .log = log};
    build->total = 2;
    if (n_steps > 0)
        build->total += first_step_records(build) + 2 * (uint64_t)(n_steps - 1);
    build->ready = held && n_steps > 0 ? first_step_records(build) : build->total;
}

void simbuild_go_on(struct simbuild *build)
{
    build->ready = build->total;
}

static struct place place_of(const struct simbuild *build, uint64_t number)
{
    uint64_t first = 1 + first_step_records(build); /* the last record of step 1 */
    uint64_t later;

    if (number == 1)
        return (struct place){.type = REC_ATTEMPT_STARTED};
    if (number == 2 + first_step_records(build) + 2 * (uint64_t)(build->n_steps - 1) ||
        build->n_steps == 0)
        return (struct place){.type = REC_ATTEMPT_FINISHED};
    if (number == 2)
        return (struct place){.type = REC_STEP_STARTED, .step = 1};
    if (number < first)
        return (struct place){.type = REC_LOG_BLOCK, .step = 1, .block = number - 3};
    if (number == first)
        return (struct place){.type = REC_STEP_FINISHED, .step = 1};
    later = number - first - 1;
    return (struct place){.type = later % 2 ? REC_STEP_FINISHED : REC_STEP_STARTED,
                          .step = (uint32_t)(2 + later / 2)};
}

/* The step that runs after record number; 0: none. */
static uint32_t running_after(const struct simbuild *build, uint64_t number)
{
    struct place at = place_of(build, number);

    return at.type == REC_STEP_STARTED || at.type == REC_LOG_BLOCK ? at.step : 0;
}

void simbuild_cancel(struct simbuild *build)
{
    if (build->cancelled_after || build->ready == build->total)
        return;
    build->cancelled_after = build->ready;
    build->total = build->ready + (running_after(build, build->ready) ? 2 : 1);
    build->ready = build->total;
}

static struct place place_with_cancel(const struct simbuild *build, uint64_t number)
{
    if (!build->cancelled_after || number <= build->cancelled_after)
        return place_of(build, number);
    if (number == build->total)
        return (struct place){.type = REC_ATTEMPT_FINISHED};
    return (struct place){.type = REC_STEP_FINISHED,
                          .step = running_after(build, build->cancelled_after)};
}

enum build_result simbuild_result(const struct simbuild *build)
{
    return build->cancelled_after ? RESULT_CANCELLED : RESULT_SUCCESS;
}

static enum build_result result_at(const struct simbuild *build, uint64_t number)
{
    return build->cancelled_after && number > build->cancelled_after ? RESULT_CANCELLED
                                                                     : RESULT_SUCCESS;
}

void simbuild_record(const struct simbuild *build, uint64_t number, int64_t wall_ms,
                     struct msg *record)
{
    struct place at = place_with_cancel(build, number);

    assert(number >= 1 && number <= build->ready);
    *record = (struct msg){.type = at.type};
    switch (at.type) {
    case REC_ATTEMPT_STARTED:
        record->u.attempt_started = (struct msg_attempt_started){wall_ms};
        break;
    case REC_STEP_STARTED:
        record->u.step_started = (struct msg_step_started){at.step, wall_ms};
        break;
    case REC_LOG_BLOCK:
        simlog_block(build->log, at.block, &record->u.log_block);
        record->u.log_block.time_ms = wall_ms;
        break;
    case REC_STEP_FINISHED:
        record->u.step_finished = (struct msg_step_finished){
            .step = at.step, .result = result_at(build, number), .time_ms = wall_ms};
        if (result_at(build, number) != RESULT_SUCCESS)
            record->u.step_finished.exit_code = -1;
        break;
    default:
        record->u.attempt_finished =
            (struct msg_attempt_finished){.result = result_at(build, number), .time_ms = wall_ms};
        break;
    }
}
