#include "master/http/steplog.h"

#include <inttypes.h>
#include <stddef.h>

struct look {
    struct steplog *log;
    uint32_t n_steps;
    bool found, step_ended;
    enum build_state state;
    uint32_t attempt; /* the build's newest */
};

static void take_build(void *arg, const struct build_info *build)
{
    struct look *look = arg;

    look->state = build->state;
    look->attempt = build->attempt;
}

static void take_step(void *arg, const struct step_info *step)
{
    struct look *look = arg;
    const struct log_name *name = &look->log->name;

    look->n_steps++;
    if (step->number != name->step)
        return;
    look->found = true;
    look->step_ended = step->state == STEP_FINISHED;
    look->log->info = step->log[name->stream];
}

static enum err_code no_step(const struct look *look, struct err *err)
{
    const struct log_name *name = &look->log->name;

    if (name->attempt == 0)
        return err_set(err, ERR_NOTFOUND, "build %" PRIu64 " has not started yet", name->build);
    if (look->n_steps == 0)
        return err_set(err, ERR_NOTFOUND, "build %" PRIu64 " has no attempt %" PRIu32, name->build,
                       name->attempt);
    return err_set(err, ERR_NOTFOUND,
                   "attempt %" PRIu32 " of build %" PRIu64 " has %" PRIu32 " steps, no step "
                   "%" PRIu32,
                   name->attempt, name->build, look->n_steps, name->step);
}

enum err_code steplog_read(struct reader *reader, const struct log_name *name, struct steplog *out,
                           struct err *err)
{
    struct steplog log = {.name = *name};
    struct look look = {.log = &log};
    bool over;
    enum err_code rc;

    /* The build first: when it says that the attempt is over, the steps are final. */
    rc = reader_build(reader, name->build, take_build, &look, err);
    if (rc)
        return rc;
    if (name->attempt == 0)
        log.name.attempt = look.attempt;
    if (log.name.attempt > 0)
        rc = reader_steps(reader, name->build, log.name.attempt, take_step, &look, err);
    if (rc == ERR_OK && !look.found)
        rc = no_step(&look, err);
    if (rc)
        return rc;
    over = look.attempt > log.name.attempt ||
           (look.state != BUILD_RUNNING && look.state != BUILD_DETACHED);
    log.complete = over || look.step_ended;
    *out = log;
    return ERR_OK;
}

enum err_code steplog_open(struct log_reader *logs, const struct steplog *log,
                           struct log_view **out, struct err *err)
{
    *out = NULL;
    if (log->info.bytes == 0)
        return ERR_OK;
    return log_view_open(logs, log->name, &log->info, out, err);
}
