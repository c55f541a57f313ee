#include "common/io/fsx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"

enum { FS_CHUNK = 16 * 1024, FS_SECRET_MIN = 16, FS_SECRET_MAX = 64 * 1024 };

static enum err_code fs_fail(struct err *err, int error, const char *verb, const char *path)
{
    enum err_code rc = err_set_sys(err, error, "%s %s", verb, path);

    if (error != ENOENT && error != ENOTDIR)
        return rc;
    if (err)
        err->code = ERR_NOTFOUND;
    return ERR_NOTFOUND;
}

static enum err_code fs_read_fd(int fd, struct str *out, struct err *err)
{
    char chunk[FS_CHUNK];
    enum err_code rc;
    ssize_t n;

    for (;;) {
        n = read(fd, chunk, sizeof chunk);
        if (n == 0)
            return ERR_OK;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_sys(err, errno, "read");
        rc = str_append(out, chunk, (size_t)n, err);
        if (rc)
            return rc;
    }
}

/* Opens what may be no file at all without waiting for it: a pipe with nobody at its other end
 * would hold its reader for ever. */
static int fs_open_to_read(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static enum err_code fs_check_file(int fd, struct stat *st, struct err *err)
{
    if (fstat(fd, st) != 0)
        return err_set_sys(err, errno, "read");
    if (!S_ISREG(st->st_mode))
        return err_set(err, ERR_CONFIG, "not a file");
    return ERR_OK;
}

enum err_code fs_read(const char *path, struct str *out, struct err *err)
{
    size_t before = out->n;
    enum err_code rc;
    struct stat st;
    int fd;

    fd = fs_open_to_read(path);
    if (fd < 0)
        return fs_fail(err, errno, "open", path);
    rc = fs_check_file(fd, &st, err);
    if (!rc)
        rc = fs_read_fd(fd, out, err);
    if (rc) {
        str_cut(out, before);
        err_prefix(err, "read %s", path);
    }
    (void)close(fd);
    return rc;
}

enum err_code fs_write_all(int fd, const void *bytes, size_t n, struct err *err)
{
    const char *p = bytes;

    while (n > 0) {
        ssize_t wrote = write(fd, p, n);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return err_set_sys(err, errno, "write");
        p += wrote;
        n -= (size_t)wrote;
    }
    return ERR_OK;
}

enum err_code fs_pread_all(int fd, void *out, size_t n, uint64_t offset, struct err *err)
{
    char *p = out;

    while (n > 0) {
        ssize_t got = pread(fd, p, n, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_set_sys(err, errno, "read");
        if (got == 0)
            return err_set(err, ERR_IO, "read: the file ends %zu bytes early", n);
        p += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return ERR_OK;
}

/* Makes a rename in the folder of path survive a crash. */
static enum err_code fs_sync_folder(const char *path, struct err *err)
{
    char *dir = fs_dirname(path);
    enum err_code rc = ERR_OK;
    int fd;

    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        rc = fs_fail(err, errno, "open", dir);
    else if (fsync(fd) != 0 && errno != EINVAL) /* some file systems cannot, and need not */
        rc = err_set_sys(err, errno, "sync %s", dir);
    if (fd >= 0)
        (void)close(fd);
    free(dir);
    return rc;
}

/* Fills the temporary file and gives it the final name. */
static enum err_code fs_replace_with(int fd, const char *temporary, const char *path,
                                     struct view bytes, struct err *err)
{
    enum err_code rc;

    rc = fs_write_all(fd, bytes.p, bytes.n, err);
    if (rc)
        return rc;
    if (fsync(fd) != 0)
        return err_set_sys(err, errno, "sync");
    if (rename(temporary, path) != 0)
        return err_set_sys(err, errno, "rename");
    return ERR_OK;
}

enum err_code fs_replace(const char *path, struct view bytes, mode_t mode, struct err *err)
{
    char *temporary = xasprintf("%s.new-XXXXXX", path);
    enum err_code rc;
    int fd;

    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        rc = fs_fail(err, errno, "make", temporary);
        free(temporary);
        return rc;
    }
    if (fchmod(fd, mode) != 0)
        rc = err_set_sys(err, errno, "change mode");
    else
        rc = fs_replace_with(fd, temporary, path, bytes, err);
    if (rc)
        (void)unlink(temporary);
    (void)close(fd);
    free(temporary);
    if (!rc)
        rc = fs_sync_folder(path, err);
    if (rc)
        err_prefix(err, "replace %s", path);
    return rc;
}

static enum err_code fs_mkdir(const char *path, struct err *err)
{
    struct stat st;
    int error;

    if (mkdir(path, 0755) == 0)
        return ERR_OK;
    error = errno;
    /* A read-only or foreign parent may say so before it says that the folder exists. */
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? ERR_OK
                                   : err_set(err, ERR_IO, "make folder %s: a file is there", path);
    return err_set_sys(err, error, "make folder %s", path);
}

enum err_code fs_mkdirs(const char *path, struct err *err)
{
    enum err_code rc = ERR_OK;
    char *part = xstrdup(path);
    char *at = part;

    while (!rc && *at) {
        char kept;

        at += strspn(at, "/");
        at += strcspn(at, "/");
        kept = *at;
        *at = '\0';
        if (part[0])
            rc = fs_mkdir(part, err);
        *at = kept;
    }
    free(part);
    return rc;
}

bool fs_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

char *fs_join(const char *dir, const char *name)
{
    size_t n = dir ? strlen(dir) : 0;

    if (n == 0 || name[0] == '/')
        return xstrdup(name);
    return xasprintf("%s%s%s", dir, dir[n - 1] == '/' ? "" : "/", name);
}

char *fs_dirname(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n == 0)
        return xstrdup(".");
    while (n > 1 && path[n - 1] == '/')
        n--;
    return xstrndup(path, n);
}

static struct view trimmed(struct view v)
{
    static const char space[] = " \t\r\n";

    while (v.n > 0 && memchr(space, v.p[v.n - 1], sizeof space - 1))
        v.n--;
    while (v.n > 0 && memchr(space, v.p[0], sizeof space - 1)) {
        v.p++;
        v.n--;
    }
    return v;
}

static enum err_code fs_read_secret_fd(int fd, struct str *text, struct str *out, struct err *err)
{
    struct view secret;
    enum err_code rc;
    struct stat st;

    rc = fs_check_file(fd, &st, err);
    if (rc)
        return rc;
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        return err_set(err, ERR_AUTH, "others may read it (mode %04o): chmod 600 it",
                       (unsigned)(st.st_mode & 07777));
    rc = fs_read_fd(fd, text, err);
    if (rc)
        return rc;
    secret = trimmed(str_view(text));
    if (secret.n < FS_SECRET_MIN)
        return err_set(err, ERR_CONFIG, "a secret has at least %d bytes", FS_SECRET_MIN);
    if (secret.n > out->max)
        return err_set(err, ERR_LIMIT, "longer than %zu bytes", out->max);
    str_clear(out);
    return str_append(out, secret.p, secret.n, err);
}

enum err_code fs_read_secret(const char *path, struct str *out, struct err *err)
{
    struct str text = STR_INIT(FS_SECRET_MAX);
    enum err_code rc;
    int fd;

    fd = fs_open_to_read(path);
    if (fd < 0)
        return fs_fail(err, errno, "open", path);
    rc = fs_read_secret_fd(fd, &text, out, err);
    if (rc)
        err_prefix(err, "secret %s", path);
    if (text.p)
        explicit_bzero(text.p, text.cap);
    str_release(&text);
    (void)close(fd);
    return rc;
}

enum err_code fs_lock(const char *path, int *fd, struct err *err)
{
    int got = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int error;

    if (got < 0)
        return fs_fail(err, errno, "open", path);
    if (flock(got, LOCK_EX | LOCK_NB) != 0) {
        error = errno;
        (void)close(got);
        if (error == EWOULDBLOCK)
            return err_set(err, ERR_EXISTS, "lock %s: somebody else holds it", path);
        return err_set_sys(err, error, "lock %s", path);
    }
    *fd = got;
    return ERR_OK;
}
