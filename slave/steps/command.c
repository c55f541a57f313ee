/* Steps `build` and `test`: one command; its exit code decides. */
#include "slave/steps/argv.h"
#include "slave/steps/step.h"

static void command_begin(struct step *step)
{
    char **argv = argv_of_step(step_spec(step));

    step_run(step, &(struct step_command){.argv = argv});
    argv_free(argv);
}

static void command_on_command(struct step *step, const struct step_command_end *end)
{
    step_finish_command(step, end, "");
}

const struct step_kind_ops step_kind_command = {
    .limit = "total",
    .begin = command_begin,
    .on_command = command_on_command,
};
