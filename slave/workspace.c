#include "slave/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "common/io/timer.h"
#include "common/io/work.h"

#define TMP_PREFIX "tmp-"

enum { FULL_BYTES = 1 << 20 };

struct workspace {
    struct loop *loop;
    char *path, *source, *tmp;
    int lock;
    struct timer soon;
    void (*done)(void *owner);
    void *owner;
};

/* A tree to be removed on the pool, and who is told. */
struct removal {
    char *path;
    struct workspace *workspace; /* NULL: nobody waits */
};

static void workspace_finish(struct workspace *w)
{
    void (*done)(void *owner) = w->done;
    void *owner = w->owner;

    timer_stop(&w->soon);
    if (w->lock >= 0)
        (void)close(w->lock);
    free(w->path);
    free(w->source);
    free(w->tmp);
    free(w);
    if (done)
        done(owner);
}

static void on_soon(struct timer *timer, void *owner)
{
    (void)timer;
    workspace_finish(owner);
}

static void removal_run(void *arg)
{
    struct removal *removal = arg;
    struct err err = ERR_INIT;

    if (fs_remove_tree(removal->path, &err))
        log_warn("workspace.tmp_left", LOG_STR("path", removal->path), LOG_ERR(&err));
}

static void removal_done(void *arg)
{
    struct removal *removal = arg;
    struct workspace *w = removal->workspace;

    free(removal->path);
    free(removal);
    if (w)
        workspace_finish(w);
}

/* Takes over path. */
static void remove_later(struct loop *loop, char *path, struct workspace *workspace)
{
    struct removal *removal = xcalloc(1, sizeof *removal);

    removal->path = path;
    removal->workspace = workspace;
    work_start(loop, removal_run, removal_done, removal);
}

/* Left by an agent that was killed. */
static void remove_stale_tmp(struct workspace *w)
{
    DIR *dir = opendir(w->path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, TMP_PREFIX, strlen(TMP_PREFIX)) == 0)
            remove_later(w->loop, fs_join(w->path, entry->d_name), NULL);
    if (dir)
        (void)closedir(dir);
}

/* A step can put anything in the place of what is ours, a link out of here too, and take away our
 * right to it. Neither may spoil the builds that come after. */
static void reclaim(const char *path, mode_t kind)
{
    struct err err = ERR_INIT;
    struct stat st;

    if (lstat(path, &st) != 0)
        return;
    if ((st.st_mode & S_IFMT) != kind) {
        if (fs_remove_tree(path, &err))
            log_warn("workspace.obstructed", LOG_STR("path", path), LOG_ERR(&err));
    } else if ((~st.st_mode & S_IRWXU) && kind == S_IFDIR) {
        (void)chmod(path, st.st_mode | S_IRWXU); /* what follows says why, when this fails */
    }
}

/* Takes DIR/work/BUILDER or DIR/work/BUILDER+number. ERR_EXISTS when it is in use. */
static enum err_code claim_folder(struct workspace *w, const char *work, struct view builder,
                                  unsigned number, struct err *err)
{
    enum err_code rc;
    char *lock;

    w->path = number == 0 ? xasprintf("%s/%.*s", work, VIEW_ARG(builder))
                          : xasprintf("%s/%.*s+%u", work, VIEW_ARG(builder), number);
    lock = fs_join(w->path, "lock");
    reclaim(w->path, S_IFDIR);
    rc = fs_mkdirs(w->path, err);
    reclaim(lock, S_IFREG);
    if (!rc)
        rc = fs_lock(lock, &w->lock, err);
    free(lock);
    if (rc) {
        free(w->path);
        w->path = NULL;
    }
    return rc;
}

static enum err_code make_folders(struct workspace *w, uint64_t build, uint32_t attempt,
                                  struct err *err)
{
    enum err_code rc;

    w->source = fs_join(w->path, "src");
    w->tmp = xasprintf("%s/" TMP_PREFIX "%" PRIu64 "-%" PRIu32, w->path, build, attempt);
    remove_stale_tmp(w);
    reclaim(w->source, S_IFDIR);
    rc = fs_mkdirs(w->source, err);
    return rc ? rc : fs_mkdirs(w->tmp, err);
}

static enum err_code absolute_work(const char *dir, char **out, struct err *err)
{
    char *work = fs_join(dir, "work");
    enum err_code rc = fs_mkdirs(work, err);

    if (!rc) {
        *out = realpath(work, NULL);
        if (!*out)
            rc = err_set_sys(err, errno, "%s", work);
    }
    free(work);
    return rc;
}

enum err_code workspace_claim(struct loop *loop, const char *dir, struct view builder,
                              uint64_t build, uint32_t attempt, struct workspace **out,
                              struct err *err)
{
    struct workspace *w;
    char *work = NULL;
    enum err_code rc;
    unsigned number = 0;

    if (!ident_is_name(builder))
        return err_set(err, ERR_CONFIG, "no folder can be named after this builder");
    w = xcalloc(1, sizeof *w);
    w->loop = loop;
    w->lock = -1;
    timer_init(&w->soon, loop, on_soon, w);
    rc = absolute_work(dir, &work, err);
    if (!rc) {
        do
            rc = claim_folder(w, work, builder, number, err);
        while (rc == ERR_EXISTS && ++number < WORKSPACE_MOST);
        if (rc == ERR_EXISTS)
            rc = err_set(err, ERR_LIMIT, "all %d work folders of the builder are in use",
                         WORKSPACE_MOST);
    }
    if (!rc)
        rc = make_folders(w, build, attempt, err);
    free(work);
    if (rc) {
        err_prefix(err, "make the work folder");
        workspace_finish(w);
        return rc;
    }
    *out = w;
    return ERR_OK;
}

const char *workspace_source(const struct workspace *w)
{
    return w->source;
}

const char *workspace_tmp(const struct workspace *w)
{
    return w->tmp;
}

void workspace_release(struct workspace *w, void (*done)(void *owner), void *owner)
{
    w->done = done;
    w->owner = owner;
    if (rmdir(w->tmp) == 0 || errno == ENOENT) {
        timer_start(&w->soon, 0, 0);
    } else {
        remove_later(w->loop, w->tmp, w);
        w->tmp = NULL;
    }
}

bool workspace_is_full(const struct workspace *w)
{
    struct statvfs fs;

    if (statvfs(w->path, &fs) < 0)
        return false;
    return (uint64_t)fs.f_bavail * fs.f_frsize < FULL_BYTES || (fs.f_files > 0 && fs.f_favail == 0);
}
