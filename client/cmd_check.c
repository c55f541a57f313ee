/* `tailrace check`: only the master's program knows its configuration, so that program does the
 * checking. */
#include "client/cmd.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli.h"
#include "common/base/mem.h"

/* The master's program beside ours; NULL when it cannot be told where we are. The caller frees. */
static char *master_beside(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    char *slash;

    if (n <= 0)
        return NULL;
    path[n] = '\0';
    slash = strrchr(path, '/');
    return slash ? xasprintf("%.*s/tailrace-master", (int)(slash - path), path) : NULL;
}

int cmd_check(struct cli *cli)
{
    char *beside = master_beside();
    char *const argv[] = {"tailrace-master", "--check", cli->args.words.v[0], NULL};

    (void)signal(SIGPIPE, SIG_DFL); /* what we ignore, it would ignore too */
    if (beside)
        (void)execv(beside, argv);
    (void)execvp(argv[0], argv);
    print_complain("check: cannot start tailrace-master, which does the checking: %s",
                   strerror(errno));
    free(beside);
    return CLI_TROUBLE;
}
