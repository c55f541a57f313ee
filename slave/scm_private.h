/*
 * What scm.c (the machine), scm_mirror.c and scm_tree.c (its stages) share. A stage's begin either
 * asks for an action or goes to another stage; ran is told how its command ended and chooses what
 * comes next.
 */
#ifndef TAILRACE_SLAVE_SCM_PRIVATE_H
#define TAILRACE_SLAVE_SCM_PRIVATE_H

#include "slave/scm.h"

enum scm_stage {
    SCM_PREPARE,        /* folders and our configuration */
    SCM_LOCK,           /* the mirror is ours */
    SCM_MIRROR,         /* there is one */
    SCM_LOOK_UP,        /* the revision in it */
    SCM_FETCH,          /* branches and tags */
    SCM_PROBE,          /* a fetch failed: is it the other side? */
    SCM_FETCH_EXACT,    /* the revision alone */
    SCM_VERIFY,         /* the revision is missing: is the mirror whole? */
    SCM_DROP_MIRROR,    /* it is damaged */
    SCM_TREE,           /* there is a work tree */
    SCM_TREE_INIT,      /* make one */
    SCM_TREE_REMOTE,    /* and tell it where it comes from */
    SCM_CHECKOUT,       /* the revision */
    SCM_CLEAN,          /* untracked files */
    SCM_REFS,           /* the mirror's branches and tags, for git describe and the like */
    SCM_SUBMODULE_URLS, /* submodules, if asked for */
    SCM_SUBMODULES,
    SCM_SUBMODULE_CLEAN,
    SCM_DROP_TREE, /* it is damaged, or not ours */
    SCM_END,
};

enum { SCM_ARGV_MAX = 16 };

/* Texts are owned. */
struct scm {
    struct scm_request request; /* owned texts */
    enum scm_stage stage;
    struct scm_action action;
    char *mirror, *git_dir, *config, *shown_url;
    char *argv[SCM_ARGV_MAX + 1]; /* owned */
    size_t argc;
    char *note;         /* said with the next action */
    char *said;         /* with the last */
    bool acted;         /* the stage gave an action */
    char *revision;     /* once it is known */
    int lock;           /* on the mirror; -1 */
    unsigned candidate; /* which reading of the revision is looked up */
    bool fetched, fetched_exact;
    bool fresh_mirror, fresh_tree;
    bool renewed_mirror, renewed_tree; /* once each */
    bool renew_mirror;                 /* as soon as it is locked */
    bool waited;
    uint64_t fetches; /* gitfiles.h, when the tree's refs were read */
};

/* Chooses the action; scm.c. */
void scm_act(struct scm *scm, enum scm_what what);
void scm_run(struct scm *scm, const char *const *words); /* up to NULL */
#define SCM_GIT(scm, ...) scm_run((scm), (const char *const[]){"git", __VA_ARGS__, NULL})
void scm_remove(struct scm *scm, const char *path);
void scm_fail(struct scm *scm, bool exception, const char *fmt, ...) TAILRACE_PRINTF(3, 4);
/* The reason is what: the last line of the output. */
void scm_fail_with(struct scm *scm, const char *what, struct view output);
void scm_note(struct scm *scm, const char *text);
/* The last line of a command's output that says anything, owned. */
char *scm_last_line(struct view output);
void scm_unlock(struct scm *scm);
bool scm_is_hash(const char *text); /* a whole one */
bool scm_is_hex(const char *text);  /* the begin of one, at least */

struct scm_stage_ops {
    void (*begin)(struct scm *scm);
    void (*ran)(struct scm *scm, int exit_code, struct view output);
};

extern const struct scm_stage_ops scm_prepare, scm_lock, scm_mirror, scm_look_up, scm_fetch,
    scm_probe, scm_fetch_exact, scm_verify, scm_drop_mirror;
extern const struct scm_stage_ops scm_tree, scm_tree_init, scm_tree_remote, scm_checkout, scm_clean,
    scm_refs, scm_submodule_urls, scm_submodules, scm_submodule_clean, scm_drop_tree;

#endif
