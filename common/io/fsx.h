/*
 * fsx: files, synchronously. Never called on the master's loop thread.
 */
#ifndef TAILRACE_COMMON_IO_FSX_H
#define TAILRACE_COMMON_IO_FSX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/err.h"
#include "common/base/str.h"

/* Appends the file's bytes to *out (its max bounds the size: ERR_LIMIT). ERR_NOTFOUND when there is
 * none; ERR_CONFIG, at once, when it is a folder, a pipe or a device. */
enum err_code fs_read(const char *path, struct str *out, struct err *err) TAILRACE_MUST_CHECK;
/* Writes a file so that a reader or a crash sees the old one or the new one: temporary, fsync,
 * rename, fsync of the folder. */
enum err_code fs_replace(const char *path, struct view bytes, mode_t mode,
                         struct err *err) TAILRACE_MUST_CHECK;
/* Makes the folder and its parents (0755); fine when it exists. */
enum err_code fs_mkdirs(const char *path, struct err *err) TAILRACE_MUST_CHECK;
/* Removes a file or a whole tree, never following links out of it. Fine when nothing is there.
 * Makes folders writable when it must. */
enum err_code fs_remove_tree(const char *path, struct err *err) TAILRACE_MUST_CHECK;
/* All n bytes, through EINTR and short writes. */
enum err_code fs_write_all(int fd, const void *bytes, size_t n,
                           struct err *err) TAILRACE_MUST_CHECK;
enum err_code fs_pread_all(int fd, void *out, size_t n, uint64_t offset,
                           struct err *err) TAILRACE_MUST_CHECK;
bool fs_exists(const char *path);
/* "dir/name" as an owned string; name as it is when absolute or dir NULL. */
char *fs_join(const char *dir, const char *name);
/* The folder part of a path ("." when it has none), owned. */
char *fs_dirname(const char *path);
/* A file that only its owner may read, holding a secret: at least 16 bytes, surrounding white space
 * dropped. ERR_AUTH when others may read it. The result replaces *out's content. */
enum err_code fs_read_secret(const char *path, struct str *out,
                             struct err *err) TAILRACE_MUST_CHECK;
/* An exclusive lock on a file, made when missing, held until the descriptor closes or the process
 * dies. ERR_EXISTS when somebody else holds it. */
enum err_code fs_lock(const char *path, int *fd, struct err *err) TAILRACE_MUST_CHECK;

#endif
