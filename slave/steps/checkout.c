/* Step `checkout`: does what scm.h says must be done, and shows it in the log. */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "slave/scm.h"
#include "slave/steps/step.h"

static void run_git(struct step *step, struct scm *scm, const struct scm_action *action)
{
    struct envlist env = ENVLIST_INIT;
    char *shown = scm_show(scm);
    char *line = xasprintf("$ %s", shown);

    scm_env(scm, &env);
    step_line(step, line);
    /* Not in the tree, which may not be there. */
    step_run(step, &(struct step_command){.argv = action->argv,
                                          .dir = step_context_of(step)->dir,
                                          .env = &env,
                                          .capture = true});
    envlist_release(&env);
    free(line);
    free(shown);
}

static void checkout_go_on(struct step *step)
{
    struct scm *scm = step_state(step);
    const struct scm_action *action = scm_next(scm);

    if (action->note)
        step_note(step, "%s", action->note);
    switch (action->what) {
    case SCM_RUN:
        run_git(step, scm, action);
        break;
    case SCM_REMOVE:
        step_remove_tree(step, action->path);
        break;
    case SCM_WAIT:
        step_wait(step, SCM_WAIT_MS);
        break;
    case SCM_DONE:
        step_note(step, "revision %s", action->revision);
        step_put_revision(step, view_of(action->revision));
        step_finish(step, RESULT_SUCCESS, 0, "%s", "");
        break;
    case SCM_FAILED:
        step_note(step, "%s", action->reason);
        step_finish(step, action->exception ? RESULT_EXCEPTION : RESULT_FAILURE, -1, "%s",
                    action->reason);
        break;
    }
}

static void checkout_begin(struct step *step)
{
    const struct step_context *context = step_context_of(step);
    const struct msg_start *job = context->job;
    char *mirrors = fs_join(context->dir, "mirrors");
    char *url = view_dup(job->git);
    char *branch = view_dup(job->branch);
    char *revision = view_dup(job->revision);

    step_set_state(step, scm_new(&(struct scm_request){
                             .mirrors = mirrors,
                             .tree = workspace_source(context->workspace),
                             .url = url,
                             .branch = branch,
                             .revision = revision,
                             .submodules = step_spec(step)->submodules,
                             .keep_tree = step_spec(step)->keep_tree,
                         }));
    free(revision);
    free(branch);
    free(url);
    free(mirrors);
    checkout_go_on(step);
}

static void checkout_on_command(struct step *step, const struct step_command_end *end)
{
    bool succeeded = step_command_succeeded(end);

    if (!end->started) {
        step_finish(step, RESULT_EXCEPTION, -1, "git cannot be run: %s", end->err.msg);
        return;
    }
    if (!succeeded && workspace_is_full(step_context_of(step)->workspace)) {
        step_finish_command(step, end, "git: "); /* says so; nothing is damaged */
        return;
    }
    scm_ran(step_state(step), end->exit.signal ? -1 : end->exit.code, step_captured(step));
    checkout_go_on(step);
}

static void checkout_on_removed(struct step *step, const struct err *err)
{
    scm_removed(step_state(step), err);
    checkout_go_on(step);
}

static void checkout_release(struct step *step)
{
    scm_free(step_state(step));
}

const struct step_kind_ops step_kind_checkout = {
    .limit = "checkout",
    .begin = checkout_begin,
    .on_command = checkout_on_command,
    .on_removed = checkout_on_removed,
    .on_waited = checkout_go_on,
    .release = checkout_release,
};
