#include "slave/steps/argv.h"

#include <stdlib.h>

#include "common/base/mem.h"

enum { SHELL_WORDS = 3 };

char **argv_of_step(const struct msg_step *step)
{
    char **argv = xcalloc((step->argv.n ? step->argv.n : SHELL_WORDS) + 1, sizeof *argv);
    size_t i;

    if (step->argv.n == 0) {
        argv[0] = xstrdup("/bin/sh");
        argv[1] = xstrdup("-ec");
        argv[2] = view_dup(step->shell);
    }
    for (i = 0; i < step->argv.n; i++)
        argv[i] = view_dup(step->argv.v[i]);
    return argv;
}

void argv_free(char **argv)
{
    size_t i;

    for (i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}
