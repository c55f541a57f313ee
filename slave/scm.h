/*
 * scm: how a work tree comes to hold an exact revision, as a machine that says what to do next and
 * is told how it went; who runs the commands is not its matter. Uses the git program.
 *
 * Each repository has one bare mirror, DIR/mirrors/<hash>.git, which all work trees borrow objects
 * from. A revision that it has is not fetched; else its branches and tags are, and, when that does
 * not bring the revision, the revision itself. One checkout at a time uses a mirror, the others
 * wait. A mirror or work tree that is damaged is removed and made anew once.
 */
#ifndef TAILRACE_SLAVE_SCM_H
#define TAILRACE_SLAVE_SCM_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "slave/envlist.h"

struct scm;

/* Copied. */
struct scm_request {
    const char *mirrors; /* absolute folder */
    const char *tree;    /* absolute folder of the work tree */
    const char *url;
    const char *branch;
    const char *revision; /* a commit, or a tag's name; empty: the branch's newest */
    bool submodules;      /* recursively */
    bool keep_tree;       /* leave untracked files alone */
};

enum scm_what {
    SCM_RUN,    /* argv; then scm_ran() */
    SCM_REMOVE, /* the tree `path`; then scm_removed() */
    SCM_WAIT,   /* SCM_WAIT_MS, then scm_next() */
    SCM_DONE,   /* the tree holds `revision` */
    SCM_FAILED, /* reason says why; exception: the machine is at fault */
};

enum { SCM_WAIT_MS = 100, SCM_REASON_MAX = 512 };

/* Good until the next call; texts belong to the machine. */
struct scm_action {
    enum scm_what what;
    char *const *argv;
    const char *path;
    const char *note; /* a line for the log, said before it; or NULL */
    const char *revision;
    char reason[SCM_REASON_MAX];
    bool exception;
};

struct scm *scm_new(const struct scm_request *request);
void scm_free(struct scm *scm); /* NULL allowed; a lock on the mirror goes with it */
/* What git needs of its environment. */
void scm_env(const struct scm *scm, struct envlist *env);
const struct scm_action *scm_next(struct scm *scm);
/* How the command ended (0: well; -1: not by itself), and the end of what it wrote. */
void scm_ran(struct scm *scm, int exit_code, struct view output);
void scm_removed(struct scm *scm, const struct err *err);
/* The command of an SCM_RUN as a person would type it, without passwords. Owned. */
char *scm_show(const struct scm *scm);

#endif
