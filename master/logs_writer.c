#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <uthash.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "master/logs.h"
#include "master/logs_header.h"

enum { WRITER_OPEN_FILES = 256 };

/* An open log. The table keeps them in the order of use, the least recent first. */
struct log_file {
    struct log_key key;
    int fd;
    uint64_t size; /* of the file */
    bool dirty;
    UT_hash_handle hh;
};

/* A folder that got a new entry which is not yet known to be on the disk. */
struct log_folder {
    UT_hash_handle hh;
    char path[];
};

struct log_writer {
    char *data;
    struct log_file *files;
    struct log_folder *folders;
};

struct log_writer *log_writer_new(const char *data)
{
    struct log_writer *writer = xcalloc(1, sizeof *writer);

    writer->data = xstrdup(data);
    return writer;
}

static void file_close(struct log_writer *writer, struct log_file *file)
{
    HASH_DEL(writer->files, file);
    (void)close(file->fd);
    free(file);
}

void log_writer_rollback(struct log_writer *writer)
{
    struct log_file *file, *next;

    /* Folders stay on their list: what is in them was made, and will not be made again. */
    HASH_ITER (hh, writer->files, file, next) {
        file_close(writer, file);
    }
}

static void folders_clear(struct log_writer *writer)
{
    struct log_folder *folder, *next;

    HASH_ITER (hh, writer->folders, folder, next) {
        HASH_DEL(writer->folders, folder);
        free(folder);
    }
}

void log_writer_free(struct log_writer *writer)
{
    if (!writer)
        return;
    log_writer_rollback(writer);
    folders_clear(writer);
    free(writer->data);
    free(writer);
}

static void folder_changed(struct log_writer *writer, const char *path)
{
    size_t n = strlen(path);
    struct log_folder *folder;

    HASH_FIND(hh, writer->folders, path, n, folder);
    if (folder)
        return;
    folder = xcalloc(1, sizeof *folder + n + 1);
    memcpy(folder->path, path, n + 1);
    HASH_ADD_KEYPTR(hh, writer->folders, folder->path, n, folder);
}

/* Makes path, and what is missing above it as far as DATA/logs (depth levels). */
static enum err_code folder_make(struct log_writer *writer, const char *path, int depth,
                                 struct err *err)
{
    char *parent;
    enum err_code rc = ERR_OK;

    if (mkdir(path, 0755) != 0 && errno == EEXIST)
        return ERR_OK;
    parent = fs_dirname(path);
    if (!fs_exists(path)) {
        rc = depth > 0 ? folder_make(writer, parent, depth - 1, err) : ERR_OK;
        if (rc == ERR_OK && mkdir(path, 0755) != 0 && errno != EEXIST)
            rc = err_set_sys(err, errno, "make %s", path);
    }
    if (rc == ERR_OK)
        folder_changed(writer, parent);
    free(parent);
    return rc;
}

static enum err_code open_or_make(struct log_writer *writer, const char *path, int *fd, bool *made,
                                  struct err *err)
{
    char *folder;
    enum err_code rc;

    *made = false;
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd >= 0)
        return ERR_OK;
    if (errno != ENOENT)
        return err_set_sys(err, errno, "open %s", path);
    folder = fs_dirname(path);
    rc = folder_make(writer, folder, 2, err);
    if (rc == ERR_OK) {
        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (*fd < 0)
            rc = err_set_sys(err, errno, "make %s", path);
        else
            folder_changed(writer, folder);
        *made = true;
    }
    free(folder);
    return rc;
}

static enum err_code file_sync(struct log_file *file, struct err *err)
{
    if (!file->dirty)
        return ERR_OK;
    if (fdatasync(file->fd) != 0)
        return err_set_sys(err, errno, "sync the log of build %llu, step %u",
                           (unsigned long long)file->key.build, (unsigned)file->key.attempt_step);
    file->dirty = false;
    return ERR_OK;
}

/* Room for one more open file. */
static enum err_code make_room(struct log_writer *writer, struct err *err)
{
    enum err_code rc;

    while (HASH_COUNT(writer->files) >= WRITER_OPEN_FILES) {
        rc = file_sync(writer->files, err);
        if (rc)
            return rc;
        file_close(writer, writer->files);
    }
    return ERR_OK;
}

static enum err_code file_open(struct log_writer *writer, struct log_name name,
                               struct log_file **out, struct err *err)
{
    struct log_file *file;
    struct stat st;
    char *path;
    bool made;
    int fd;
    enum err_code rc = make_room(writer, err);

    if (rc)
        return rc;
    path = log_path(writer->data, name);
    rc = open_or_make(writer, path, &fd, &made, err);
    if (rc == ERR_OK && fstat(fd, &st) != 0) {
        rc = err_set_sys(err, errno, "stat %s", path);
        (void)close(fd);
    }
    if (rc == ERR_OK) {
        file = xcalloc(1, sizeof *file);
        file->key = log_key_of(name);
        file->fd = fd;
        file->size = (uint64_t)st.st_size;
        file->dirty = made;
        HASH_ADD(hh, writer->files, key, sizeof file->key, file);
        *out = file;
    }
    free(path);
    return rc;
}

/* The open file of that name, cut back to where the database says it ends. */
static enum err_code file_get(struct log_writer *writer, struct log_name name, uint64_t size,
                              struct log_file **out, struct err *err)
{
    struct log_key key = log_key_of(name);
    struct log_file *file;
    enum err_code rc;

    HASH_FIND(hh, writer->files, &key, sizeof key, file);
    if (file) {
        HASH_DEL(writer->files, file);
        HASH_ADD(hh, writer->files, key, sizeof file->key, file);
    } else {
        rc = file_open(writer, name, &file, err);
        if (rc)
            return rc;
    }
    if (file->size > size) {
        if (ftruncate(file->fd, (off_t)size) != 0) {
            rc = err_set_sys(err, errno, "cut a log file back to %llu bytes",
                             (unsigned long long)size);
            file_close(writer, file);
            return rc;
        }
        file->dirty = true;
    } else if (file->size < size) {
        log_error("logs.lost", LOG_ID("build", name.build), LOG_INT("step", name.step),
                  LOG_BYTES("has", file->size), LOG_BYTES("had", size));
    }
    file->size = size;
    *out = file;
    return ERR_OK;
}

static enum err_code write_both(int fd, struct iovec io[2], uint64_t at, struct err *err)
{
    size_t left = io[0].iov_len + io[1].iov_len;
    int first = 0;

    while (left > 0) {
        ssize_t n = pwritev(fd, io + first, 2 - first, (off_t)at);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set_sys(err, n < 0 ? errno : ENOSPC, "write a log");
        at += (uint64_t)n;
        left -= (size_t)n;
        if (first == 0 && (size_t)n >= io[0].iov_len) {
            n -= (ssize_t)io[0].iov_len;
            first = 1;
        }
        io[first].iov_base = (char *)io[first].iov_base + n;
        io[first].iov_len -= (size_t)n;
    }
    return ERR_OK;
}

static enum err_code file_append(struct log_file *file, const struct log_header *header,
                                 struct view data, struct err *err)
{
    uint8_t packed[LOGS_HEADER_BYTES];
    struct iovec io[2] = {
        {packed, sizeof packed},
        {(void *)(uintptr_t)data.p, data.n},
    };
    enum err_code rc;

    log_header_pack(header, packed);
    file->dirty = true;
    rc = write_both(file->fd, io, file->size, err);
    if (rc == ERR_OK)
        file->size += sizeof packed + data.n;
    return rc;
}

enum err_code log_writer_append(struct log_writer *writer, struct log_name name,
                                const struct msg_log_block *block, struct log_info *info,
                                struct err *err)
{
    const struct log_header header = {
        .data_bytes = block->data.n > UINT32_MAX ? UINT32_MAX : (uint32_t)block->data.n,
        .offset = block->offset,
        .size = block->size,
        .lines = block->lines,
        .lines_before = info->lines,
        .crc = block->crc,
        .time_ms = block->time_ms,
    };
    struct log_file *file = NULL;
    enum err_code rc;

    if (block->offset != info->bytes)
        return err_set(err, ERR_PROTO, "a log block at %llu where the log ends at %llu",
                       (unsigned long long)block->offset, (unsigned long long)info->bytes);
    rc = log_header_check(&header, err);
    if (rc)
        return rc;
    rc = file_get(writer, name, info->stored_bytes, &file, err);
    if (rc)
        return rc;
    rc = file_append(file, &header, block->data, err);
    if (rc) {
        file_close(writer, file); /* its size is unknown now */
        return rc;
    }
    info->bytes += block->size;
    info->lines += block->lines;
    info->stored_bytes = file->size;
    return ERR_OK;
}

static enum err_code folders_sync(struct log_writer *writer, struct err *err)
{
    struct log_folder *folder, *next;

    HASH_ITER (hh, writer->folders, folder, next) {
        int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        int failed = fd < 0 || fsync(fd) != 0 ? errno : 0;

        if (fd >= 0)
            (void)close(fd);
        if (failed)
            return err_set_sys(err, failed, "sync %s", folder->path);
        HASH_DEL(writer->folders, folder);
        free(folder);
    }
    return ERR_OK;
}

enum err_code log_writer_sync(struct log_writer *writer, struct err *err)
{
    struct log_file *file, *next;
    enum err_code rc;

#ifdef SYNC_FILE_RANGE_WRITE
    /* Start writing all of them before waiting for the first. */
    HASH_ITER (hh, writer->files, file, next) {
        if (file->dirty)
            (void)sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE);
    }
#endif
    HASH_ITER (hh, writer->files, file, next) {
        rc = file_sync(file, err);
        if (rc)
            return rc;
    }
    return folders_sync(writer, err);
}
