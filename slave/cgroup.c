#include "slave/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL_BYTES = 512 };

static bool write_file(const char *path, const char *name, const char *text)
{
    char *file = xasprintf("%s/%s", path, name);
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        (void)close(fd);
    free(file);
    return done;
}

/* The nth word of a line, from 0; owned. */
static char *word_of(const char *line, unsigned n)
{
    while (n-- > 0) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return xstrndup(line, strcspn(line, " "));
}

/* Where the cgroup2 tree is mounted; *root is the cgroup that is seen there. Both owned; false when
 * there is none. */
static bool find_mount(char **mount, char **root)
{
    enum { ROOT_WORD = 3, MOUNT_WORD = 4 };
    FILE *file = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t cap = 0;
    bool found = false;

    while (file && !found && getline(&line, &cap, file) > 0) {
        const char *type = strstr(line, " - ");

        if (!type || strncmp(type, " - cgroup2 ", 11) != 0)
            continue;
        *root = word_of(line, ROOT_WORD);
        *mount = word_of(line, MOUNT_WORD);
        found = true;
    }
    free(line);
    if (file)
        (void)fclose(file);
    return found;
}

/* Our own place in the tree ("/..."), owned; NULL when we are in none. */
static char *find_own(void)
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    char *line = NULL;
    size_t cap = 0;
    char *own = NULL;

    while (file && !own && getline(&line, &cap, file) > 0)
        if (strncmp(line, "0::/", 4) == 0)
            own = xstrndup(line + 3, strcspn(line + 3, "\n"));
    free(line);
    if (file)
        (void)fclose(file);
    return own;
}

char *cgroup_home(const char *name)
{
    char *mount;
    char *root;
    char *own;
    char *home = NULL;

    if (!find_mount(&mount, &root))
        return NULL;
    own = find_own();
    if (own) {
        size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
        bool below = strncmp(own, root, n) == 0 && (own[n] == '/' || own[n] == '\0');
        const char *rest = below && strcmp(own + n, "/") != 0 ? own + n : "";

        home = xasprintf("%s%s/%s", mount, rest, name);
    }
    free(own);
    free(mount);
    free(root);
    return home;
}

bool cgroup_make(const char *path)
{
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

/* Whether a child process of ours can move itself there. */
static bool can_enter(const char *path)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(write_file(path, "cgroup.procs", "0") ? 0 : 1);
    if (pid < 0)
        return false;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool cgroup_usable(const char *path)
{
    char *probe = xasprintf("%s/probe", path);
    bool usable = cgroup_make(path) && cgroup_make(probe) && can_enter(probe);

    (void)rmdir(probe);
    free(probe);
    (void)rmdir(path); /* unless others are in it */
    return usable;
}

void cgroup_children(const char *path, void (*fn)(void *arg, const char *path, const char *name),
                     void *arg)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        char *child;

        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        child = xasprintf("%s/%s", path, entry->d_name);
        fn(arg, child, entry->d_name);
        free(child);
    }
    if (dir)
        (void)closedir(dir);
}

static void add_pids_of(void *arg, const char *path, const char *name)
{
    (void)name;
    cgroup_pids(path, arg);
}

void cgroup_pids(const char *path, pid_list *out)
{
    char *file_name = xasprintf("%s/cgroup.procs", path);
    FILE *file = fopen(file_name, "re");
    int pid;

    while (file && fscanf(file, "%d", &pid) == 1)
        vec_push(out, pid);
    if (file)
        (void)fclose(file);
    free(file_name);
    cgroup_children(path, add_pids_of, out);
}

bool cgroup_populated(const char *path)
{
    char *name = xasprintf("%s/cgroup.events", path);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    char text[SMALL_BYTES];
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);

    if (fd >= 0)
        (void)close(fd);
    free(name);
    text[n > 0 ? n : 0] = '\0';
    return strstr(text, "populated 1") != NULL;
}

void cgroup_kill(const char *path)
{
    pid_list pids = {0};
    size_t i;

    if (write_file(path, "cgroup.kill", "1"))
        return;
    /* Linux before 5.14. A frozen process cannot fork away, and dies of KILL all the same. */
    (void)write_file(path, "cgroup.freeze", "1");
    cgroup_pids(path, &pids);
    for (i = 0; i < pids.n; i++)
        (void)kill(pids.v[i], SIGKILL);
    (void)write_file(path, "cgroup.freeze", "0");
    vec_release(&pids);
}

static void remove_child(void *arg, const char *path, const char *name)
{
    (void)arg;
    (void)name;
    (void)cgroup_remove(path);
}

bool cgroup_remove(const char *path)
{
    if (rmdir(path) == 0 || errno == ENOENT)
        return true;
    cgroup_children(path, remove_child, NULL);
    return rmdir(path) == 0 || errno == ENOENT;
}
