/* What the end of a command means for its step. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "slave/steps/step.h"

enum { EXIT_NOT_FOUND = 127, EXIT_NOT_EXECUTABLE = 126 };

static const char *exit_text(const struct proc_exit *exit, char *out, size_t size)
{
    if (exit->signal)
        (void)snprintf(out, size, "ended by signal %d (%s)", exit->signal,
                       sigdescr_np(exit->signal) ? sigdescr_np(exit->signal) : "unknown");
    else
        (void)snprintf(out, size, "exit code %d", exit->code);
    return out;
}

bool step_command_succeeded(const struct step_command_end *end)
{
    return end->started && end->exit.signal == 0 && end->exit.code == 0;
}

/* What was asked for cannot be run, as a shell would say; whatever else keeps it from starting is
 * the machine's fault. */
static int64_t exit_code_of_start(const struct err *err)
{
    if (err->code == ERR_NOTFOUND)
        return EXIT_NOT_FOUND;
    if (err->sys == EACCES || err->sys == ENOEXEC || err->sys == EISDIR || err->sys == ENOTDIR)
        return EXIT_NOT_EXECUTABLE;
    return -1;
}

void step_finish_command(struct step *step, const struct step_command_end *end, const char *prefix)
{
    char text[128];

    if (step_command_succeeded(end)) {
        step_finish(step, RESULT_SUCCESS, 0, "%s", "");
    } else if (!end->started) {
        int64_t code = exit_code_of_start(&end->err);

        step_finish(step, code < 0 ? RESULT_EXCEPTION : RESULT_FAILURE, code, "%s%s", prefix,
                    end->err.msg);
    } else if (workspace_is_full(step_context_of(step)->workspace)) {
        step_finish(step, RESULT_EXCEPTION, end->exit.signal ? -1 : end->exit.code,
                    "%sthe slave's disk is full (%s)", prefix,
                    exit_text(&end->exit, text, sizeof text));
    } else {
        step_finish(step, RESULT_FAILURE, end->exit.signal ? -1 : end->exit.code, "%s%s", prefix,
                    exit_text(&end->exit, text, sizeof text));
    }
}
