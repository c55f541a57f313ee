#include "slave/pscan.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 64, STAT_BYTES = 1024, ENV_PIECE = 64 * 1024 };
static const int kernel_parent = 2; /* kthreadd: the parent of all kernel threads */

/* Reads up to size - 1 bytes of a small file of /proc and ends them with a NUL. */
static bool read_small(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return false;
    n = read(fd, out, size - 1);
    (void)close(fd);
    if (n <= 0)
        return false;
    out[n] = '\0';
    return true;
}

bool pscan_get(int pid, struct pscan_process *out)
{
    struct pscan_process found = {.pid = pid};
    char path[PATH_BYTES];
    char text[STAT_BYTES];
    const char *rest;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!read_small(path, text, sizeof text))
        return false;
    rest = strrchr(text, ')'); /* the name before it may hold anything */
    if (!rest ||
        sscanf(rest, /* state ppid pgrp session ... starttime is the 22nd field */
               ") %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
               "%" SCNu64,
               &found.state, &found.ppid, &found.sid, &found.start_ticks) != 4)
        return false;
    if (found.state == 'Z' || found.state == 'X')
        return false;
    *out = found;
    return true;
}

void pscan_all(pscan_list *out)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        struct pscan_process process;
        char *end;
        long pid = strtol(entry->d_name, &end, 10);

        if (pid <= 0 || *end || !pscan_get((int)pid, &process))
            continue;
        if (process.pid != kernel_parent && process.ppid != kernel_parent)
            vec_push(out, process);
    }
    if (dir)
        (void)closedir(dir);
}

/* Appends the pids that text lists. */
static void add_listed(pscan_list *out, const char *text)
{
    char *end;
    long pid;

    while ((pid = strtol(text, &end, 10)) > 0) {
        struct pscan_process process;

        if (pscan_get((int)pid, &process))
            vec_push(out, process);
        text = end;
    }
}

/* Reads a list of pids, which may be longer than a page. */
static bool read_children(const char *path, pscan_list *out)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t cap = 0;

    if (!file)
        return false;
    if (getdelim(&text, &cap, '\0', file) > 0)
        add_listed(out, text);
    free(text);
    (void)fclose(file);
    return true;
}

/* Children belong to the thread that made them. */
static bool add_children(int pid, pscan_list *out)
{
    char path[PATH_BYTES];
    struct dirent *entry;
    bool known = false;
    DIR *tasks;

    (void)snprintf(path, sizeof path, "/proc/%d/task", pid);
    tasks = opendir(path);
    while (tasks && (entry = readdir(tasks))) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", pid, entry->d_name);
        if (read_children(path, out))
            known = true;
    }
    if (tasks)
        (void)closedir(tasks);
    return known;
}

bool pscan_descendants(pscan_list *out)
{
    size_t i = out->n;

    if (!add_children((int)getpid(), out))
        return false;
    for (; i < out->n; i++)
        (void)add_children(out->v[i].pid, out);
    return true;
}

/* Looks for prefix at the begin of each NUL-ended entry of what the file holds, piece by piece. */
static bool env_file_starts(int fd, const char *prefix)
{
    size_t want = strlen(prefix);
    size_t matched = 0; /* of prefix in this entry */
    bool matching = true;
    char *piece = xmalloc(ENV_PIECE);
    bool found = false;
    ssize_t n;

    while (!found && (n = read(fd, piece, ENV_PIECE)) > 0) {
        ssize_t i;

        for (i = 0; i < n && !found; i++) {
            if (piece[i] == '\0') {
                matching = true;
                matched = 0;
            } else if (matching) {
                matching = piece[i] == prefix[matched++];
                found = matching && matched == want;
            }
        }
    }
    free(piece);
    return found;
}

bool pscan_env_starts(int pid, const char *prefix)
{
    char path[PATH_BYTES];
    bool found;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/environ", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    found = env_file_starts(fd, prefix);
    (void)close(fd);
    return found;
}
