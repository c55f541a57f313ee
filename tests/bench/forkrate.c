/*
 * forkrate COUNT JOBS [PROGRAM]: how many times a second this machine starts and reaps a program
 * that does nothing (/bin/true), JOBS at a time, from a process that is itself small. The limit of
 * everything that starts processes. Prints one line of JSON.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/text.h"
#include "tests/bench/instant.h"

static bool start(const char *program)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)execl(program, program, (char *)NULL);
        _exit(127);
    }
    return pid > 0;
}

/* False when a child failed or could not be started. */
static bool run(const char *program, uint64_t count, uint64_t jobs)
{
    uint64_t started = 0;
    uint64_t ended = 0;

    while (ended < count) {
        int status = 0;

        if (started < count && started - ended < jobs) {
            if (!start(program))
                return false;
            started++;
            continue;
        }
        if (wait(&status) < 0 || status != 0)
            return false;
        ended++;
    }
    return true;
}

int main(int argc, char **argv)
{
    const char *program = argc == 4 ? argv[3] : "/bin/true";
    struct err err = ERR_INIT;
    uint64_t count = 0;
    uint64_t jobs = 0;
    double begin;
    double wall_s;

    if (argc < 3 || argc > 4 || text_u64(view_of(argv[1]), 1, 10000000, &count, &err) ||
        text_u64(view_of(argv[2]), 1, 1000, &jobs, &err)) {
        (void)fprintf(stderr, "usage: forkrate COUNT JOBS [PROGRAM]\n");
        return 2;
    }
    begin = instant_ms();
    if (!run(program, count, jobs)) {
        (void)fprintf(stderr, "forkrate: %s could not be run\n", program);
        return 1;
    }
    wall_s = (instant_ms() - begin) / 1e3;
    (void)printf("{\"count\": %llu, \"jobs\": %llu, \"wall_s\": %.3f, \"per_s\": %.1f}\n",
                 (unsigned long long)count, (unsigned long long)jobs, wall_s,
                 (double)count / wall_s);
    return 0;
}
