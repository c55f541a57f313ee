#include "common/io/proc_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/mem.h"

#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

enum { FD_REPORT = 3, FDS_MOST = 65536, EXIT_NOT_STARTED = 127 };

enum spawn_stage { SPAWN_CGROUP, SPAWN_FOLDER, SPAWN_OUTPUT, SPAWN_EXEC };

/* What the child sends through the report pipe when it cannot start; exec closes the pipe instead.
 */
struct spawn_report {
    int stage;
    int error;
};

/* All that the child needs, made before the fork: between fork and exec it may only call what is
 * safe in a signal handler. Descriptors are -1 for none. */
struct spawn {
    const char *program;
    char *const *argv;
    char *const *env;
    const char *dir;
    int null, out, error_out, cgroup, report;
};

/* ---- The child's side ---- */

static void child_fail(const struct spawn *spawn, enum spawn_stage stage)
{
    struct spawn_report report = {(int)stage, errno};
    ssize_t n;

    do {
        n = write(spawn->report, &report, sizeof report);
    } while (n < 0 && errno == EINTR);
    _exit(EXIT_NOT_STARTED);
}

static void child_close_from(unsigned first)
{
    struct rlimit limit;
    unsigned fd, end = FDS_MOST;

    if (close_range(first, ~0U, 0) == 0)
        return;
    /* Before Linux 5.9. */
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < end)
        end = (unsigned)limit.rlim_cur;
    for (fd = first; fd < end; fd++)
        (void)close((int)fd);
}

static void child_reset_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;
    int number;

    for (number = 1; number < NSIG; number++)
        (void)sigaction(number, &standard, NULL); /* KILL, STOP and libc's own refuse */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* In a program that was started without standard descriptors, ours may stand in their places. */
static void child_raise(struct spawn *spawn, int *fd)
{
    if (*fd > 2)
        return;
    *fd = fcntl(*fd, F_DUPFD_CLOEXEC, FD_REPORT);
    if (*fd < 0)
        child_fail(spawn, SPAWN_OUTPUT);
}

static void child_run(struct spawn *spawn)
{
    child_raise(spawn, &spawn->report);
    child_raise(spawn, &spawn->null);
    child_raise(spawn, &spawn->out);
    child_raise(spawn, &spawn->error_out);
    (void)setsid();
    if (spawn->cgroup >= 0 && write(spawn->cgroup, "0", 1) != 1)
        child_fail(spawn, SPAWN_CGROUP);
    if (spawn->dir && chdir(spawn->dir) != 0)
        child_fail(spawn, SPAWN_FOLDER);
    if (dup2(spawn->null, 0) < 0 || dup2(spawn->out, 1) < 0 || dup2(spawn->error_out, 2) < 0)
        child_fail(spawn, SPAWN_OUTPUT);
    if (spawn->report != FD_REPORT) {
        if (dup3(spawn->report, FD_REPORT, O_CLOEXEC) < 0)
            child_fail(spawn, SPAWN_OUTPUT);
        spawn->report = FD_REPORT;
    }
    child_close_from(FD_REPORT + 1);
    child_reset_signals();
    (void)execve(spawn->program, spawn->argv, spawn->env);
    child_fail(spawn, SPAWN_EXEC);
}

/* ---- Finding the program ---- */

static const char *env_get(char *const *env, const char *name)
{
    size_t n = strlen(name);

    for (; *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return *env + n + 1;
    return NULL;
}

/* 0, or the errno that says why the file cannot be run. */
static int check_program(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EACCES;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* The path of name in the folder entry[0..n) of PATH, if it can be run. Relative folders count from
 * dir, where the child will stand. */
static char *try_folder(const char *entry, size_t n, const char *name, const char *dir, int *why)
{
    char *program = xasprintf("%.*s/%s", n > 0 ? (int)n : 1, n > 0 ? entry : ".", name);
    char *seen = dir && program[0] != '/' ? xasprintf("%s/%s", dir, program) : xstrdup(program);
    int error = check_program(seen);

    free(seen);
    if (error == 0)
        return program;
    free(program);
    if (error != ENOENT && error != ENOTDIR)
        *why = error;
    return NULL;
}

static enum err_code find_program(const struct proc_spec *spec, char **out, struct err *err)
{
    const char *name = spec->argv[0];
    const char *path = env_get(spec->env, "PATH");
    char *found = NULL;
    int why = ENOENT;
    size_t n;

    if (strchr(name, '/')) {
        *out = xstrdup(name);
        return ERR_OK;
    }
    for (path = path ? path : PATH_DEFAULT; name[0] && !found; path += n + 1) {
        n = strcspn(path, ":");
        found = try_folder(path, n, name, spec->dir, &why);
        if (path[n] == '\0')
            break;
    }
    if (found) {
        *out = found;
        return ERR_OK;
    }
    if (why == ENOENT)
        return err_set(err, ERR_NOTFOUND, "no program '%s' in PATH", name);
    return err_set_sys(err, why, "run %s", name);
}

/* ---- The parent's side ---- */

static enum err_code say_failure(const struct proc_spec *spec, const struct spawn *spawn,
                                 const struct spawn_report *report, struct err *err)
{
    enum err_code rc;

    switch ((enum spawn_stage)report->stage) {
    case SPAWN_CGROUP:
        return err_set_sys(err, report->error, "enter cgroup %s", spec->cgroup_procs);
    case SPAWN_FOLDER:
        rc = err_set_sys(err, report->error, "enter folder %s", spec->dir);
        break;
    case SPAWN_EXEC:
        rc = err_set_sys(err, report->error, "run %s", spawn->program);
        break;
    case SPAWN_OUTPUT:
    default:
        return err_set_sys(err, report->error, "connect the output of %s", spawn->program);
    }
    if (report->error == ENOENT || report->error == ENOTDIR) {
        rc = ERR_NOTFOUND;
        if (err)
            err->code = rc;
    }
    return rc;
}

/* Waits until exec has closed the pipe, or the child has said why not. */
static bool read_report(int fd, struct spawn_report *report)
{
    ssize_t n;

    do {
        n = read(fd, report, sizeof *report);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof *report;
}

static void wait_for(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Forks with all signals blocked: a handler of ours that ran in the child would write into the
 * parent's loop. */
static pid_t fork_child(struct spawn *spawn)
{
    sigset_t all, before;
    pid_t pid;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        child_run(spawn);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static enum err_code run_child(const struct proc_spec *spec, struct spawn *spawn, pid_t *pid,
                               struct err *err)
{
    struct spawn_report report;
    enum err_code rc = ERR_OK;
    int ends[2];
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set_sys(err, errno, "make a pipe");
    spawn->report = ends[1];
    child = fork_child(spawn);
    if (child < 0)
        rc = err_set_sys(err, errno, "make a process");
    (void)close(ends[1]);
    if (child > 0 && read_report(ends[0], &report)) {
        rc = say_failure(spec, spawn, &report, err);
        wait_for(child);
    }
    (void)close(ends[0]);
    if (!rc)
        *pid = child;
    return rc;
}

enum err_code proc_spawn(const struct proc_spec *spec, int out, int error_out, pid_t *pid,
                         struct err *err)
{
    struct spawn spawn = {.argv = spec->argv,
                          .env = spec->env,
                          .dir = spec->dir,
                          .null = -1,
                          .out = out,
                          .error_out = error_out,
                          .cgroup = -1};
    char *program = NULL;
    enum err_code rc;

    rc = find_program(spec, &program, err);
    if (rc)
        return rc;
    spawn.program = program;
    spawn.null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (spawn.null < 0) {
        rc = err_set_sys(err, errno, "open /dev/null");
        goto done;
    }
    if (spec->cgroup_procs) {
        spawn.cgroup = open(spec->cgroup_procs, O_WRONLY | O_CLOEXEC);
        if (spawn.cgroup < 0) {
            rc = err_set_sys(err, errno, "enter cgroup %s", spec->cgroup_procs);
            goto done;
        }
    }
    rc = run_child(spec, &spawn, pid, err);
done:
    if (spawn.null >= 0)
        (void)close(spawn.null);
    if (spawn.cgroup >= 0)
        (void)close(spawn.cgroup);
    free(program);
    return rc;
}
