#include "slave/gitfiles.h"

#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/crypt.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"

enum { MIRROR_HEX = 32, SMALL_FILE_MAX = 64 * 1024 };

/* Our place for numbers in a git folder; git leaves alone what it does not know. */
static const char seen_name[] = "tailrace-seen";
static const char fetches_name[] = "tailrace-fetches";
static const char config_name[] = "tailrace-config";

char *gitfiles_mirror(const char *dir, const char *url)
{
    uint8_t digest[CRYPT_SHA256_BYTES];
    char hex[CRYPT_SHA256_HEX];

    crypt_sha256(view_of(url), digest);
    crypt_hex(digest, sizeof digest, hex);
    return xasprintf("%s/%.*s.git", dir, MIRROR_HEX, hex);
}

static bool has_file(const char *dir, const char *name)
{
    char *path = fs_join(dir, name);
    bool has = fs_exists(path);

    free(path);
    return has;
}

bool gitfiles_is_repository(const char *git_dir)
{
    return has_file(git_dir, "HEAD") && has_file(git_dir, "objects") && has_file(git_dir, "refs");
}

/* A lock that a killed git left; or a pipe, which would keep the next git waiting for ever. */
static bool is_in_the_way(const FTSENT *entry)
{
    static const char lock[] = ".lock";
    size_t n = sizeof lock - 1;

    if (entry->fts_info == FTS_D || entry->fts_info == FTS_DP)
        return false;
    if (entry->fts_info == FTS_DEFAULT && S_ISFIFO(entry->fts_statp->st_mode))
        return true;
    return entry->fts_namelen > n && strcmp(entry->fts_name + entry->fts_namelen - n, lock) == 0;
}

void gitfiles_unlock(const char *git_dir)
{
    char *roots[] = {(char *)git_dir, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    FTSENT *entry;

    while (walk && (entry = fts_read(walk))) {
        if (entry->fts_info == FTS_D && entry->fts_level == 1 &&
            strcmp(entry->fts_name, "objects") == 0)
            (void)fts_set(walk, entry, FTS_SKIP);
        else if (is_in_the_way(entry) && unlink(entry->fts_path) == 0)
            log_info("checkout.unlocked", LOG_STR("path", entry->fts_path));
    }
    if (walk)
        (void)fts_close(walk);
}

/* Empty when there is none, or none that we could have written. */
static void read_small(const char *dir, const char *name, struct str *out)
{
    char *path = fs_join(dir, name);
    struct err err = ERR_INIT;

    if (fs_read(path, out, &err))
        str_clear(out);
    free(path);
}

static enum err_code replace_small(const char *dir, const char *name, const char *text,
                                   struct err *err)
{
    struct str old = STR_INIT(SMALL_FILE_MAX);
    char *path = fs_join(dir, name);
    enum err_code rc = ERR_OK;

    read_small(dir, name, &old);
    if (!view_is(str_view(&old), text))
        rc = fs_replace(path, view_of(text), 0644, err);
    str_release(&old);
    free(path);
    return rc;
}

char *gitfiles_config(const char *dir, struct err *err)
{
    static const char text[] = "[include]\n"
                               "\tpath = ~/.config/git/config\n"
                               "[include]\n"
                               "\tpath = ~/.gitconfig\n"
                               "[safe]\n"
                               "\tdirectory = *\n"
                               "[core]\n"
                               "\thooksPath = /dev/null\n"
                               "\tfsmonitor = false\n"
                               "[gc]\n"
                               "\tautoDetach = false\n"
                               "\tpruneExpire = never\n"
                               "[init]\n"
                               "\tdefaultBranch = master\n"
                               "[fetch]\n"
                               "\trecurseSubmodules = false\n"
                               "[submodule]\n"
                               "\trecurse = false\n";

    if (replace_small(dir, "git.config", text, err))
        return NULL;
    return fs_join(dir, "git.config");
}

enum err_code gitfiles_borrow(const char *git_dir, const char *mirror, struct err *err)
{
    char *info = fs_join(git_dir, "objects/info");
    char *text = xasprintf("%s/objects\n", mirror);
    enum err_code rc = fs_mkdirs(info, err);

    if (!rc)
        rc = replace_small(info, "alternates", text, err);
    free(text);
    free(info);
    return rc;
}

/* Copies one small file of the folder over another. */
static enum err_code copy_small(const char *dir, const char *from, const char *to, struct err *err)
{
    struct str text = STR_INIT(SMALL_FILE_MAX);
    enum err_code rc;

    read_small(dir, from, &text);
    if (text.n == 0)
        rc = err_set(err, ERR_NOTFOUND, "there is no %s in %s", from, dir);
    else
        rc = replace_small(dir, to, str_cstr(&text), err);
    str_release(&text);
    return rc;
}

enum err_code gitfiles_keep_config(const char *git_dir, struct err *err)
{
    return copy_small(git_dir, "config", config_name, err);
}

enum err_code gitfiles_restore_config(const char *git_dir, struct err *err)
{
    char *attributes = fs_join(git_dir, "info/attributes");
    enum err_code rc = copy_small(git_dir, config_name, "config", err);

    (void)unlink(attributes); /* there is none, most often */
    free(attributes);
    return rc;
}

uint64_t gitfiles_fetches(const char *mirror)
{
    struct str text = STR_INIT(SMALL_FILE_MAX);
    uint64_t n;

    read_small(mirror, fetches_name, &text);
    n = strtoull(str_cstr(&text), NULL, 10);
    str_release(&text);
    return n;
}

void gitfiles_count_fetch(const char *mirror)
{
    char *text = xasprintf("%" PRIu64 "\n", gitfiles_fetches(mirror) + 1);
    struct err err = ERR_INIT;

    if (replace_small(mirror, fetches_name, text, &err))
        log_warn("checkout.count", LOG_ERR(&err));
    free(text);
}

static char *seen_text(const char *mirror, uint64_t fetches)
{
    return xasprintf("%s\n%" PRIu64 "\n", mirror, fetches);
}

bool gitfiles_seen(const char *git_dir, const char *mirror, uint64_t fetches, bool *other)
{
    struct str text = STR_INIT(SMALL_FILE_MAX);
    char *want = seen_text(mirror, fetches);
    size_t n = strlen(mirror);
    bool seen;

    read_small(git_dir, seen_name, &text);
    seen = view_is(str_view(&text), want);
    *other = strncmp(str_cstr(&text), mirror, n) != 0 || str_cstr(&text)[n] != '\n';
    free(want);
    str_release(&text);
    return seen;
}

void gitfiles_set_seen(const char *git_dir, const char *mirror, uint64_t fetches)
{
    char *text = seen_text(mirror, fetches);
    struct err err = ERR_INIT;

    if (replace_small(git_dir, seen_name, text, &err))
        log_warn("checkout.seen", LOG_ERR(&err));
    free(text);
}

char *gitfiles_show_url(const char *url)
{
    const char *host = strstr(url, "://");
    const char *at;
    bool web;

    if (!host)
        return xstrdup(url);
    host += 3;
    at = memchr(host, '@', strcspn(host, "/"));
    web = strncmp(url, "http", 4) == 0;
    /* In a web address the name alone may be a token; in ssh://git@host it is none. */
    if (!at || (!web && !memchr(host, ':', (size_t)(at - host))))
        return xstrdup(url);
    return xasprintf("%.*s***%s", (int)(host - url), url, at);
}
