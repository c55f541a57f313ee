/*
 * gitfiles: what a checkout does to the files of its repositories without git. Names, small files
 * and links only: quick enough for the loop.
 */
#ifndef TAILRACE_SLAVE_GITFILES_H
#define TAILRACE_SLAVE_GITFILES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"

/* DIR/<hash of the URL>.git, owned. */
char *gitfiles_mirror(const char *dir, const char *url);
/* Whether there is a repository there, as far as its HEAD shows. */
bool gitfiles_is_repository(const char *git_dir);
/* Removes the *.lock files that a killed git left, and pipes that a build put there. The caller
 * knows that no git runs there. */
void gitfiles_unlock(const char *git_dir);
/* Writes the configuration that stands for the user's own (DIR/git.config, which includes that) and
 * returns its path, owned. It lets git read repositories whoever owns them, runs no hooks, and
 * keeps what a mirror once had: other work trees borrow from it. NULL on failure. */
char *gitfiles_config(const char *dir, struct err *err);
/* Makes the work tree's repository borrow the mirror's objects. */
enum err_code gitfiles_borrow(const char *git_dir, const char *mirror,
                              struct err *err) TAILRACE_MUST_CHECK;
/* Remembers the work tree's own configuration as a checkout made it; and brings that back, with no
 * attributes beside it, whatever a build has set since: where the tree is, what runs in it.
 * ERR_NOTFOUND when nothing was remembered. */
enum err_code gitfiles_keep_config(const char *git_dir, struct err *err) TAILRACE_MUST_CHECK;
enum err_code gitfiles_restore_config(const char *git_dir, struct err *err) TAILRACE_MUST_CHECK;

/* How often a mirror was fetched into: a number of ours in the mirror, and what the work tree saw
 * of it. 0 when there is none. */
uint64_t gitfiles_fetches(const char *mirror);
void gitfiles_count_fetch(const char *mirror);
/* Whether the work tree was last made up to date from this mirror with that number; for another
 * mirror *other is set. */
bool gitfiles_seen(const char *git_dir, const char *mirror, uint64_t fetches, bool *other);
void gitfiles_set_seen(const char *git_dir, const char *mirror, uint64_t fetches);

/* The URL as people may see it: no password. Owned. */
char *gitfiles_show_url(const char *url);

#endif
