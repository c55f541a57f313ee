#include "slave/spool.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/io/fsx.h"
#include "slave/spool_private.h"

static char *journal_path(const struct spool *spool, uint64_t build, uint32_t attempt)
{
    return xasprintf("%s/%" PRIu64 "-%" PRIu32, spool->dir, build, attempt);
}

/* "12-1" in both directions. */
static bool folder_parse(const char *name, uint64_t *build, uint32_t *attempt)
{
    const char *dash = strchr(name, '-');
    uint64_t second;

    if (!dash ||
        text_u64(view_bytes(name, (size_t)(dash - name)), 1, UINT64_MAX, build, NULL) != ERR_OK ||
        text_u64(view_of(dash + 1), 1, UINT32_MAX, &second, NULL) != ERR_OK)
        return false;
    *attempt = (uint32_t)second;
    return true;
}

static void move_aside(const struct spool *spool, const char *name, const struct err *why)
{
    char *from = fs_join(spool->dir, name);
    char *to = xasprintf("%s/bad-%s", spool->dir, name);
    struct err err = ERR_INIT;

    if (fs_remove_tree(to, &err) != ERR_OK || rename(from, to) != 0)
        log_error("spool.move_failed", LOG_STR("from", from), LOG_STR("to", to), LOG_ERR(&err));
    log_error("spool.journal_bad", LOG_STR("moved_to", to), LOG_ERR(why));
    free(from);
    free(to);
}

static void remove_folder(const char *path)
{
    struct err err = ERR_INIT;

    if (fs_remove_tree(path, &err) != ERR_OK)
        log_warn("spool.remove_failed", LOG_STR("path", path), LOG_ERR(&err));
}

static void load_folder(struct spool *spool, const char *name)
{
    struct err err = ERR_INIT;
    struct journal *journal;
    uint64_t build;
    uint32_t attempt;
    enum err_code rc;
    char *path;

    if (!folder_parse(name, &build, &attempt))
        return;
    path = journal_path(spool, build, attempt);
    journal = journal_new(spool, path);
    rc = journal_load(journal, &err);
    if (!rc && (journal_build(journal) != build || journal_attempt(journal) != attempt))
        rc = err_set(&err, ERR_PROTO, "%s holds another attempt's records", path);
    if (rc) {
        journal_free(journal);
        if (rc == ERR_NOTFOUND)
            remove_folder(path);
        else
            move_aside(spool, name, &err);
    }
    free(path);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

static enum err_code load_all(struct spool *spool, struct err *err)
{
    struct dirent **names = NULL;
    int n = scandir(spool->dir, &names, NULL, by_name);
    int i;

    if (n < 0)
        return err_set_sys(err, errno, "list %s", spool->dir);
    for (i = 0; i < n; i++) {
        load_folder(spool, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return ERR_OK;
}

void spool_make_reserve(struct spool *spool)
{
    char *path;
    int fd;

    if (spool->has_reserve)
        return;
    path = fs_join(spool->dir, "reserve");
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        spool->has_reserve = posix_fallocate(fd, 0, SPOOL_RESERVE_BYTES) == 0;
        (void)close(fd);
        if (!spool->has_reserve)
            (void)unlink(path);
    }
    free(path);
}

bool spool_use_reserve(struct spool *spool)
{
    char *path = fs_join(spool->dir, "reserve");
    bool used = spool->has_reserve && unlink(path) == 0;

    if (used)
        log_warn("spool.reserve_used", LOG_STR("path", path));
    spool->has_reserve = false;
    free(path);
    return used;
}

enum err_code spool_open(const char *dir, uint64_t limit_bytes, const struct spool_ops *ops,
                         void *owner, struct spool **out, struct err *err)
{
    struct spool *spool = xcalloc(1, sizeof *spool);
    enum err_code rc;

    spool->dir = fs_join(dir, "journal");
    spool->limit_bytes =
        limit_bytes < SPOOL_LIMIT_LEAST_BYTES ? SPOOL_LIMIT_LEAST_BYTES : limit_bytes;
    spool->segment_bytes = spool->limit_bytes / 16;
    if (spool->segment_bytes > SPOOL_SEGMENT_BYTES)
        spool->segment_bytes = SPOOL_SEGMENT_BYTES;
    spool->ops = ops;
    spool->owner = owner;
    rc = fs_mkdirs(spool->dir, err);
    if (!rc)
        rc = load_all(spool, err);
    if (rc) {
        err_prefix(err, "open the spool");
        spool_close(spool);
        return rc;
    }
    spool_make_reserve(spool);
    *out = spool;
    return ERR_OK;
}

void spool_close(struct spool *spool)
{
    if (!spool)
        return;
    while (spool->journals)
        journal_free(spool->journals);
    free(spool->dir);
    free(spool);
}

void spool_set_tag(struct spool *spool, const char *tag)
{
    assert(strlen(tag) < sizeof spool->tag);
    (void)snprintf(spool->tag, sizeof spool->tag, "%s", tag);
}

bool spool_has_room(struct spool *spool)
{
    bool room = spool->bytes < spool->limit_bytes;

    if (!room)
        spool->refused = true;
    return room;
}

void spool_check_room(struct spool *spool)
{
    if (!spool->refused || spool->disk_full || spool->bytes >= spool->limit_bytes)
        return;
    spool->refused = false;
    spool->ops->on_room(spool->owner);
}

uint64_t spool_bytes(const struct spool *spool)
{
    return spool->bytes;
}

struct journal *spool_first(struct spool *spool)
{
    return spool->journals;
}

struct journal *journal_next_of(struct journal *journal)
{
    return journal->next;
}

struct journal *spool_find(struct spool *spool, uint64_t build, uint32_t attempt)
{
    struct journal *journal;

    DL_FOREACH (spool->journals, journal)
        if (journal->head.build == build && journal->head.attempt == attempt)
            return journal;
    return NULL;
}

struct journal *spool_sendable(struct spool *spool)
{
    struct journal *journal;

    DL_FOREACH (spool->journals, journal)
        if (!journal->retired && journal->next_send <= journal->head.fold.last)
            return journal;
    return NULL;
}

/* Its folder and its first segment; nothing is left of a try that fails. */
static enum err_code make_files(struct journal *journal, const char *file, struct segment *segment,
                                struct err *err)
{
    enum err_code rc;

    rc = fs_mkdirs(journal->spool->dir, err); /* somebody may have tidied up */
    if (!rc && mkdir(journal->path, 0700) != 0)
        rc = err_set_sys(err, errno, "make %s", journal->path);
    if (!rc)
        rc = segment_create(file, &journal->head, &journal->fd, &segment->bytes, err);
    if (rc)
        remove_folder(journal->path);
    return rc;
}

enum err_code journal_create(struct spool *spool, const struct journal_of *of, struct journal **out,
                             struct err *err)
{
    struct segment segment = {.first = 1};
    struct journal *journal;
    enum err_code rc;
    char *file;

    assert(of->n_steps <= JOURNAL_STEPS_MAX);
    if (spool_find(spool, of->build, of->attempt))
        return err_set(err, ERR_EXISTS, "there is a journal of build %" PRIu64 " attempt %" PRIu32,
                       of->build, of->attempt);
    file = journal_path(spool, of->build, of->attempt);
    journal = journal_new(spool, file);
    free(file);
    journal->head.build = of->build;
    journal->head.attempt = of->attempt;
    journal->head.asked_ms = of->asked_ms;
    memcpy(journal->head.tag, spool->tag, sizeof journal->head.tag);
    fold_init(&journal->head.fold, of->n_steps);
    file = journal_segment_path(journal, segment.first);
    rc = make_files(journal, file, &segment, err);
    if (rc == ERR_NOSPACE && spool_use_reserve(spool))
        rc = make_files(journal, file, &segment, err);
    if (rc) {
        journal_free(journal);
    } else {
        vec_push(&journal->segments, segment);
        spool->bytes += segment.bytes;
        *out = journal;
    }
    free(file);
    return rc;
}

void journal_drop(struct journal *journal)
{
    struct spool *spool = journal->spool;
    char *path = xstrdup(journal->path);

    journal_free(journal);
    remove_folder(path);
    free(path);
    spool->disk_full = false;
    spool_make_reserve(spool);
    spool_check_room(spool);
}
