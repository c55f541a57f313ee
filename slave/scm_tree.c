/* The stages of a checkout that bring the revision from the mirror into the work tree. */
#include <stdlib.h>
#include <unistd.h>

#include "common/io/fsx.h"
#include "slave/gitfiles.h"
#include "slave/scm_private.h"

static void begin_tree(struct scm *scm)
{
    struct err err = ERR_INIT;
    bool other;

    if (!gitfiles_is_repository(scm->git_dir)) {
        /* Whatever is there came from no checkout. */
        scm->fresh_tree = true;
        if (rmdir(scm->request.tree) < 0 && fs_exists(scm->request.tree)) {
            scm_remove(scm, scm->request.tree);
            return;
        }
        scm->stage = SCM_TREE_INIT;
        return;
    }
    (void)gitfiles_seen(scm->git_dir, scm->mirror, 0, &other);
    if (other && !scm->renewed_tree) {
        scm->stage = SCM_DROP_TREE; /* of another repository, or never finished */
        return;
    }
    gitfiles_unlock(scm->git_dir);
    /* What a build may have set there would be the next one's tree: core.worktree, a filter... */
    if (gitfiles_restore_config(scm->git_dir, &err) && !scm->renewed_tree) {
        scm->stage = SCM_DROP_TREE;
        return;
    }
    if (gitfiles_borrow(scm->git_dir, scm->mirror, &err))
        scm_fail(scm, true, "prepare the work tree: %s", err.msg);
    else
        scm->stage = SCM_CHECKOUT;
}

/* Something in the tree does not work. First it is made anew; then it must be the mirror it borrows
 * from. */
static void distrust_tree(struct scm *scm, const char *what, struct view output)
{
    if (!scm->renewed_tree && !scm->fresh_tree) {
        scm->stage = SCM_DROP_TREE;
    } else if (!scm->renewed_mirror && !scm->fresh_mirror) {
        scm->renew_mirror = true;
        scm->stage = SCM_DROP_TREE;
    } else {
        scm_fail_with(scm, what, output);
    }
}

static void begin_drop_tree(struct scm *scm)
{
    bool other;

    (void)gitfiles_seen(scm->git_dir, scm->mirror, 0, &other);
    if (!other)
        scm_note(scm, "the work tree is damaged: it is removed and made anew");
    scm->renewed_tree = true;
    scm_remove(scm, scm->request.tree);
}

static void begin_tree_init(struct scm *scm)
{
    struct err err = ERR_INIT;

    if (fs_mkdirs(scm->request.tree, &err))
        scm_fail(scm, true, "make the work tree: %s", err.msg);
    else
        SCM_GIT(scm, "init", "--quiet", "--", scm->request.tree);
}

static void ran_tree_init(struct scm *scm, int exit_code, struct view output)
{
    struct err err = ERR_INIT;

    if (exit_code != 0)
        scm_fail_with(scm, "make the work tree", output);
    else if (gitfiles_borrow(scm->git_dir, scm->mirror, &err))
        scm_fail(scm, true, "make the work tree: %s", err.msg);
    else
        scm->stage = SCM_TREE_REMOTE;
}

static void begin_tree_remote(struct scm *scm)
{
    SCM_GIT(scm, "-C", scm->request.tree, "remote", "add", "--", "origin", scm->request.url);
}

static void ran_tree_remote(struct scm *scm, int exit_code, struct view output)
{
    struct err err = ERR_INIT;

    if (exit_code != 0) {
        scm_fail_with(scm, "make the work tree", output);
        return;
    }
    if (gitfiles_keep_config(scm->git_dir, &err)) {
        scm_fail(scm, true, "make the work tree: %s", err.msg);
        return;
    }
    gitfiles_set_seen(scm->git_dir, scm->mirror, 0);
    scm->stage = SCM_CHECKOUT;
}

static void begin_checkout(struct scm *scm)
{
    SCM_GIT(scm, "-C", scm->request.tree, "checkout", "--quiet", "--force", "--detach",
            scm->revision);
}

static void ran_checkout(struct scm *scm, int exit_code, struct view output)
{
    if (exit_code != 0)
        distrust_tree(scm, "the revision cannot be checked out", output);
    else
        scm->stage = scm->request.keep_tree || scm->fresh_tree ? SCM_REFS : SCM_CLEAN;
}

static void begin_clean(struct scm *scm)
{
    SCM_GIT(scm, "-C", scm->request.tree, "clean", "-ffdx", "--quiet");
}

static void ran_clean(struct scm *scm, int exit_code, struct view output)
{
    if (exit_code != 0)
        distrust_tree(scm, "the work tree cannot be cleaned", output);
    else
        scm->stage = SCM_REFS;
}

static void begin_refs(struct scm *scm)
{
    bool other;

    scm->fetches = gitfiles_fetches(scm->mirror);
    if (gitfiles_seen(scm->git_dir, scm->mirror, scm->fetches, &other))
        scm->stage = SCM_SUBMODULE_URLS;
    else
        SCM_GIT(scm, "-C", scm->request.tree, "fetch", "--quiet", "--prune", "--force",
                "--no-write-fetch-head", "--", scm->mirror, "+refs/heads/*:refs/remotes/origin/*",
                "+refs/tags/*:refs/tags/*");
}

static void ran_refs(struct scm *scm, int exit_code, struct view output)
{
    if (exit_code != 0) {
        distrust_tree(scm, "the branches cannot be updated", output);
        return;
    }
    gitfiles_set_seen(scm->git_dir, scm->mirror, scm->fetches);
    scm->stage = SCM_SUBMODULE_URLS;
}

static void done(struct scm *scm)
{
    scm_act(scm, SCM_DONE);
    scm->action.revision = scm->revision;
    scm->stage = SCM_END;
}

static void begin_submodule_urls(struct scm *scm)
{
    char *modules = fs_join(scm->request.tree, ".gitmodules");
    bool any = scm->request.submodules && fs_exists(modules);

    free(modules);
    if (any)
        SCM_GIT(scm, "-C", scm->request.tree, "submodule", "--quiet", "sync", "--recursive");
    else
        done(scm);
}

static void ran_submodule_urls(struct scm *scm, int exit_code, struct view output)
{
    (void)exit_code; /* the update will say */
    (void)output;
    scm->stage = SCM_SUBMODULES;
}

static void begin_submodules(struct scm *scm)
{
    SCM_GIT(scm, "-C", scm->request.tree, "submodule", "update", "--init", "--recursive", "--force",
            "--progress");
}

static void ran_submodules(struct scm *scm, int exit_code, struct view output)
{
    if (exit_code == 0)
        scm->stage = SCM_SUBMODULE_CLEAN;
    else if (!scm->renewed_tree && !scm->fresh_tree)
        scm->stage = SCM_DROP_TREE;
    else
        scm_fail_with(scm, "the submodules cannot be checked out", output);
}

static void begin_submodule_clean(struct scm *scm)
{
    if (scm->request.keep_tree || scm->fresh_tree)
        done(scm);
    else
        SCM_GIT(scm, "-C", scm->request.tree, "submodule", "--quiet", "foreach", "--recursive",
                "git clean -ffdx --quiet");
}

static void ran_submodule_clean(struct scm *scm, int exit_code, struct view output)
{
    if (exit_code != 0)
        scm_fail_with(scm, "the submodules cannot be cleaned", output);
    else
        done(scm);
}

const struct scm_stage_ops scm_tree = {.begin = begin_tree};
const struct scm_stage_ops scm_tree_init = {.begin = begin_tree_init, .ran = ran_tree_init};
const struct scm_stage_ops scm_tree_remote = {.begin = begin_tree_remote, .ran = ran_tree_remote};
const struct scm_stage_ops scm_checkout = {.begin = begin_checkout, .ran = ran_checkout};
const struct scm_stage_ops scm_clean = {.begin = begin_clean, .ran = ran_clean};
const struct scm_stage_ops scm_refs = {.begin = begin_refs, .ran = ran_refs};
const struct scm_stage_ops scm_submodule_urls = {.begin = begin_submodule_urls,
                                                 .ran = ran_submodule_urls};
const struct scm_stage_ops scm_submodules = {.begin = begin_submodules, .ran = ran_submodules};
const struct scm_stage_ops scm_submodule_clean = {.begin = begin_submodule_clean,
                                                  .ran = ran_submodule_clean};
const struct scm_stage_ops scm_drop_tree = {.begin = begin_drop_tree};
