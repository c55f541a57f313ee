/* The stages of a checkout that bring the revision into the mirror. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "slave/gitfiles.h"
#include "slave/scm_private.h"

enum { CANDIDATES = 2 };

/* What is asked for as git reads it; NULL when there is no further reading. Owned. A name is always
 * a full one, so it can be taken for nothing else, however it begins. */
static char *candidate_name(const struct scm *scm)
{
    const struct scm_request *request = &scm->request;

    if (request->revision[0] == '\0')
        return scm->candidate > 0 ? NULL : xasprintf("refs/heads/%s^{commit}", request->branch);
    if (scm_is_hex(request->revision))
        return scm->candidate > 0 ? NULL : xasprintf("%s^{commit}", request->revision);
    if (scm->candidate >= CANDIDATES)
        return NULL;
    return xasprintf("refs/%s/%s^{commit}", scm->candidate == 0 ? "tags" : "heads",
                     request->revision);
}

static void begin_prepare(struct scm *scm)
{
    struct err err = ERR_INIT;

    if (fs_mkdirs(scm->request.mirrors, &err) || fs_mkdirs(scm->request.tree, &err) ||
        !(scm->config = gitfiles_config(scm->request.mirrors, &err)))
        scm_fail(scm, true, "prepare a checkout: %s", err.msg);
    else
        scm->stage = SCM_LOCK;
}

static void begin_lock(struct scm *scm)
{
    char *path = xasprintf("%s.lock", scm->mirror);
    struct err err = ERR_INIT;
    enum err_code rc = fs_lock(path, &scm->lock, &err);

    free(path);
    if (rc == ERR_EXISTS) {
        if (!scm->waited)
            scm_note(scm, "another build uses the mirror of this repository: waiting for it");
        scm->waited = true;
        scm_act(scm, SCM_WAIT);
    } else if (rc) {
        scm_fail(scm, true, "lock the mirror: %s", err.msg);
    } else {
        scm->stage = scm->renew_mirror ? SCM_DROP_MIRROR : SCM_MIRROR;
    }
}

static void begin_mirror(struct scm *scm)
{
    if (!gitfiles_is_repository(scm->mirror)) {
        if (fs_exists(scm->mirror)) {
            scm->stage = SCM_DROP_MIRROR;
            return;
        }
        scm->fresh_mirror = true;
        SCM_GIT(scm, "init", "--quiet", "--bare", "--", scm->mirror);
        return;
    }
    gitfiles_unlock(scm->mirror);
    /* A branch or a tag may have moved; a commit has not. */
    scm->stage = scm_is_hex(scm->request.revision) ? SCM_LOOK_UP : SCM_FETCH;
}

static void ran_mirror(struct scm *scm, int exit_code, struct view output)
{
    if (exit_code != 0) {
        char *line = scm_last_line(output);

        scm_fail(scm, true, "make a mirror: %s", line ? line : "");
        free(line);
        return;
    }
    scm->stage = SCM_FETCH;
}

static void fail_missing(struct scm *scm)
{
    if (scm->request.revision[0] == '\0')
        scm_fail(scm, false, "branch %s is not in repository %s", scm->request.branch,
                 scm->shown_url);
    else
        scm_fail(scm, false, "revision %s is not in repository %s (force-pushed away?)",
                 scm->request.revision, scm->shown_url);
}

static void begin_look_up(struct scm *scm)
{
    char *name = candidate_name(scm);

    if (!name) {
        if (!scm->fetched)
            scm->stage = SCM_FETCH;
        else if (!scm->fetched_exact && scm_is_hash(scm->request.revision))
            scm->stage = SCM_FETCH_EXACT;
        else
            scm->stage = SCM_VERIFY;
        return;
    }
    SCM_GIT(scm, "--git-dir", scm->mirror, "rev-parse", "--verify", "--quiet", name);
    free(name);
}

static void ran_look_up(struct scm *scm, int exit_code, struct view output)
{
    char *line = scm_last_line(output);

    if (exit_code == 0 && line && scm_is_hash(line)) {
        free(scm->revision);
        scm->revision = line;
        scm_unlock(scm);
        scm->stage = SCM_TREE;
        return;
    }
    free(line);
    scm->candidate++;
}

static void begin_fetch(struct scm *scm)
{
    SCM_GIT(scm, "--git-dir", scm->mirror, "fetch", "--progress", "--prune", "--force",
            "--no-write-fetch-head", "--", scm->request.url, "+refs/heads/*:refs/heads/*",
            "+refs/tags/*:refs/tags/*");
}

static void ran_fetch(struct scm *scm, int exit_code, struct view output)
{
    if (exit_code == 0) {
        gitfiles_count_fetch(scm->mirror);
        scm->fetched = true;
        scm->candidate = 0;
        scm->stage = SCM_LOOK_UP;
    } else if (scm->fresh_mirror) {
        scm_fail_with(scm, "the repository cannot be fetched", output);
    } else {
        scm->stage = SCM_PROBE;
    }
}

static void begin_probe(struct scm *scm)
{
    SCM_GIT(scm, "ls-remote", "--quiet", "--", scm->request.url, "HEAD");
}

/* The other side answers, so it is the mirror that nothing can be fetched into. */
static void ran_probe(struct scm *scm, int exit_code, struct view output)
{
    if (exit_code != 0)
        scm_fail_with(scm, "the repository does not answer", output);
    else
        scm->stage = SCM_DROP_MIRROR;
}

static void begin_fetch_exact(struct scm *scm)
{
    char *spec = xasprintf("+%s:refs/tailrace/%s", scm->request.revision, scm->request.revision);

    SCM_GIT(scm, "--git-dir", scm->mirror, "fetch", "--progress", "--no-tags",
            "--no-write-fetch-head", "--", scm->request.url, spec);
    free(spec);
}

static void ran_fetch_exact(struct scm *scm, int exit_code, struct view output)
{
    (void)exit_code; /* the look-up decides */
    (void)output;
    scm->fetched_exact = true;
    scm->candidate = 0;
    scm->stage = SCM_LOOK_UP;
}

static void begin_verify(struct scm *scm)
{
    if (scm->fresh_mirror)
        fail_missing(scm);
    else
        SCM_GIT(scm, "--git-dir", scm->mirror, "rev-list", "--quiet", "--all");
}

/* A commit that cannot be read looks like one that is not there. */
static void ran_verify(struct scm *scm, int exit_code, struct view output)
{
    (void)output;
    if (exit_code != 0 && !scm->renewed_mirror)
        scm->stage = SCM_DROP_MIRROR;
    else
        fail_missing(scm);
}

static void begin_drop_mirror(struct scm *scm)
{
    if (scm->renewed_mirror) {
        scm_fail(scm, true, "the mirror of %s stays damaged", scm->shown_url);
        return;
    }
    scm->renewed_mirror = true;
    scm->renew_mirror = false;
    scm->fetched = scm->fetched_exact = false;
    scm->candidate = 0;
    scm_note(scm, "the mirror of this repository is damaged: it is removed and cloned anew");
    scm_remove(scm, scm->mirror);
}

const struct scm_stage_ops scm_prepare = {.begin = begin_prepare};
const struct scm_stage_ops scm_lock = {.begin = begin_lock};
const struct scm_stage_ops scm_mirror = {.begin = begin_mirror, .ran = ran_mirror};
const struct scm_stage_ops scm_look_up = {.begin = begin_look_up, .ran = ran_look_up};
const struct scm_stage_ops scm_fetch = {.begin = begin_fetch, .ran = ran_fetch};
const struct scm_stage_ops scm_probe = {.begin = begin_probe, .ran = ran_probe};
const struct scm_stage_ops scm_fetch_exact = {.begin = begin_fetch_exact, .ran = ran_fetch_exact};
const struct scm_stage_ops scm_verify = {.begin = begin_verify, .ran = ran_verify};
const struct scm_stage_ops scm_drop_mirror = {.begin = begin_drop_mirror};
