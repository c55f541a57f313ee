/*
 * Step `benchmark`: its command runs `warmup` times unmeasured, then `iterations` times; each of
 * these gives four points: wall, user and system seconds and the peak memory of its largest
 * process. TAILRACE_ITERATION tells the command which one it is: w1, w2... for warm-ups, then
 * 1, 2... While one runs the slave is silent (child.h). The first one that fails ends the step, and
 * gives no points.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/base/text.h"
#include "slave/steps/argv.h"
#include "slave/steps/step.h"

struct benchmark {
    uint32_t warmup, iterations;
    uint32_t done; /* of both */
};

enum { ITERATION_MAX = 16, POINTS_OF_ONE = 4, BETTER_LOWER = 1 };

static bool is_warmup(const struct benchmark *b)
{
    return b->done < b->warmup;
}

/* "w2", "7": the run that is next or under way. */
static const char *iteration_name(const struct benchmark *b, char out[ITERATION_MAX])
{
    if (is_warmup(b))
        (void)snprintf(out, ITERATION_MAX, "w%u", b->done + 1);
    else
        (void)snprintf(out, ITERATION_MAX, "%u", b->done - b->warmup + 1);
    return out;
}

static void run_next(struct step *step)
{
    struct benchmark *b = step_state(step);
    char **argv = argv_of_step(step_spec(step));
    struct envlist env = ENVLIST_INIT;
    char name[ITERATION_MAX];

    envlist_set(&env, "TAILRACE_ITERATION", iteration_name(b, name));
    step_cut_log(step); /* or it would be sent in the middle of the run */
    step_run(step, &(struct step_command){.argv = argv, .env = &env, .silent = true});
    envlist_release(&env);
    argv_free(argv);
}

static void benchmark_begin(struct step *step)
{
    const struct msg_step *spec = step_spec(step);
    struct benchmark *b = xcalloc(1, sizeof *b);

    b->warmup = spec->warmup;
    b->iterations = spec->iterations ? spec->iterations : 1;
    step_set_state(step, b);
    run_next(step);
}

static void put_points(struct step *step, uint32_t iteration, const struct proc_exit *exit)
{
    const struct {
        const char *metric, *unit;
        double value;
    } measured[POINTS_OF_ONE] = {
        {"wall", "s", exit->wall_s},
        {"user", "s", exit->user_s},
        {"system", "s", exit->system_s},
        {"max_rss", "bytes", (double)exit->max_rss_bytes},
    };
    struct msg_point points[POINTS_OF_ONE];
    unsigned i;

    for (i = 0; i < POINTS_OF_ONE; i++)
        points[i] = (struct msg_point){
            .suite = step_context_of(step)->job->builder,
            .test = step_spec(step)->name,
            .metric = view_of(measured[i].metric),
            .unit = view_of(measured[i].unit),
            .better = BETTER_LOWER,
            .iteration = iteration,
            .value = measured[i].value,
        };
    step_put_points(step, points, POINTS_OF_ONE);
}

static void benchmark_on_command(struct step *step, const struct step_command_end *end)
{
    struct benchmark *b = step_state(step);
    char name[ITERATION_MAX];
    char size[TEXT_SHORT_MAX];
    char prefix[ITERATION_MAX + 16];

    (void)iteration_name(b, name);
    if (!step_command_succeeded(end)) {
        (void)snprintf(prefix, sizeof prefix, "iteration %s: ", name);
        step_finish_command(step, end, prefix);
        return;
    }
    step_note(step, "iteration %s: wall %.3f s, user %.3f s, system %.3f s, peak memory %s", name,
              end->exit.wall_s, end->exit.user_s, end->exit.system_s,
              text_show_size(end->exit.max_rss_bytes, size));
    if (!is_warmup(b))
        put_points(step, b->done - b->warmup + 1, &end->exit);
    if (++b->done < b->warmup + b->iterations)
        run_next(step);
    else
        step_finish_command(step, end, "");
}

static void benchmark_release(struct step *step)
{
    free(step_state(step));
}

const struct step_kind_ops step_kind_benchmark = {
    .limit = "total",
    .begin = benchmark_begin,
    .on_command = benchmark_on_command,
    .release = benchmark_release,
};
