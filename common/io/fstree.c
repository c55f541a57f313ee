/*
 * fs_remove_tree() of fsx.h. The tree was made by builds: it may hold links that lead outside,
 * folders nobody may read, and more levels than there are descriptors. So nothing is reached by a
 * path, only by name within an open folder; and what lies deeper than TREE_DEPTH is moved up to the
 * top first.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/fsx.h"

enum { TREE_DEPTH = 32, TREE_NAME_TRIES = 1000 };

struct tree {
    int top;             /* the folder that the removal began with */
    unsigned depth;      /* of the folder being emptied; top is 0 */
    unsigned long moved; /* folders moved up to top so far */
    enum err_code rc;    /* the first failure; the rest is removed all the same */
    struct err *err;
};

static bool tree_fail(struct tree *tree, int error, const char *verb, const char *name)
{
    if (!tree->rc)
        tree->rc = err_set_sys(tree->err, error, "%s %s", verb, name);
    return false;
}

/* Opens a folder that we can list and change; -1 with errno. */
static int folder_open(int at, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(at, name, flags);
    struct stat st;

    if (fd < 0 && errno == EACCES && fchmodat(at, name, S_IRWXU, AT_SYMLINK_NOFOLLOW) == 0)
        fd = openat(at, name, flags);
    /* When the mode cannot be changed, the removals say why they fail. */
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
        (void)fchmod(fd, S_IRWXU);
    return fd;
}

static bool tree_move_up(struct tree *tree, int at, const char *name)
{
    char target[64];
    int i;
    /* A folder that moves has its ".." changed, which needs the right to write into it. */
    int rc = fchmodat(at, name, S_IRWXU, AT_SYMLINK_NOFOLLOW);

    (void)rc; /* the rename says whether it was enough */
    for (i = 0; i < TREE_NAME_TRIES; i++) {
        (void)snprintf(target, sizeof target, ".removed-%lu", tree->moved++);
        if (renameat(at, name, tree->top, target) == 0)
            return true;
        if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR)
            break;
    }
    return tree_fail(tree, errno, "move up", name);
}

static bool tree_remove_entry(struct tree *tree, int at, const char *name);

static bool is_self_or_parent(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

/* Whether the pass removed or moved something; a folder may not show what was added while it is
 * read. */
static bool tree_empty_pass(struct tree *tree, DIR *dir)
{
    unsigned long moved = tree->moved;
    bool progress = false;
    struct dirent *entry;

    rewinddir(dir);
    while ((entry = readdir(dir))) {
        if (!is_self_or_parent(entry->d_name) && tree_remove_entry(tree, dirfd(dir), entry->d_name))
            progress = true;
    }
    return progress || tree->moved != moved;
}

static void tree_empty(struct tree *tree, DIR *dir)
{
    tree->depth++;
    while (tree_empty_pass(tree, dir))
        ;
    tree->depth--;
}

static bool tree_remove_folder(struct tree *tree, int at, const char *name)
{
    DIR *dir;
    int fd;

    if (unlinkat(at, name, AT_REMOVEDIR) == 0)
        return true;
    if (tree->depth >= TREE_DEPTH)
        return tree_move_up(tree, at, name);
    fd = folder_open(at, name);
    if (fd < 0)
        return tree_fail(tree, errno, "open", name);
    dir = fdopendir(fd);
    if (!dir) {
        (void)close(fd);
        return tree_fail(tree, errno, "open", name);
    }
    if (tree->top < 0)
        tree->top = fd;
    tree_empty(tree, dir);
    (void)closedir(dir);
    if (unlinkat(at, name, AT_REMOVEDIR) == 0)
        return true;
    return tree_fail(tree, errno, "remove", name);
}

static bool tree_remove_entry(struct tree *tree, int at, const char *name)
{
    struct stat st;

    if (unlinkat(at, name, 0) == 0)
        return true;
    if (errno == ENOENT)
        return false;
    /* EISDIR by Linux, EPERM by POSIX; a refusal can also be about a file. */
    if (errno == EISDIR ||
        (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)))
        return tree_remove_folder(tree, at, name);
    return tree_fail(tree, errno, "remove", name);
}

enum err_code fs_remove_tree(const char *path, struct err *err)
{
    struct tree tree = {.top = -1, .err = err};

    (void)tree_remove_entry(&tree, AT_FDCWD, path);
    if (tree.rc)
        err_prefix(err, "remove %s", path);
    return tree.rc;
}
