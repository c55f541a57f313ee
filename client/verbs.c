#include "client/verbs.h"

#include <string.h>

#include "client/cmd.h"
#include "common/base/text.h"

enum {
    READS = OPTION_JSON | OPTION_MASTER,
};

const struct verb verbs[] = {
    {"check", "FILE", "Check a master's configuration",
     "Prints every error with its file, line and column, or a summary of what would run. Needs no\n"
     "running master. Exit 0: it is good, 1: it has errors.\n",
     0, 1, 1, cmd_check},
    {"status", "", "What the master is doing", "Whether it is well, what it runs, and its pools.\n",
     READS, 0, 0, cmd_status},
    {"builders", "", "The builders, and the newest build of each branch",
     "One line for each builder and branch.\n", READS, 0, 0, cmd_builders},
    {"slaves", "", "The slaves, and what they are doing", "One line for each slave.\n", READS, 0, 0,
     cmd_slaves},
    {"queue", "[pause|resume POOL]", "What waits, why, and when it should start",
     "With pause, a pool starts no more builds until resume, also over a restart of the master; "
     "what\n"
     "runs, runs on.\n",
     READS, 0, 2, cmd_queue},
    {"builds", "", "The newest builds",
     "Newest first.\n\n"
     "  tailrace builds --branch master --result failure\n",
     READS | OPTION_BUILDER | OPTION_BRANCH | OPTION_STATE | OPTION_RESULT | OPTION_LIMIT, 0, 0,
     cmd_builds},
    {"show", "BUILD", "One build, its steps and attempts",
     "BUILD is a build's number or the address of its page.\n", READS, 1, 1, cmd_show},
    {"log", "BUILD [STEP]", "A step's log, the exact bytes",
     "STEP is a number or a name; without it, the logs of all steps follow one another, with "
     "their\n"
     "names on standard error. --follow goes on until the step (or the build) has ended, over a\n"
     "restart of the master too, and after the loss of a slave with the next attempt. Exit 0: the\n"
     "log has been written, whatever became of the step; 2: there is no such build or step.\n\n"
     "  tailrace log 12 test --follow\n"
     "  tailrace log 12 test --stderr         of a step with stderr: separate\n",
     OPTION_MASTER | OPTION_FOLLOW | OPTION_ATTEMPT | OPTION_STDERR, 1, 2, cmd_log},
    {"wait", "BUILD", "Wait for a build's end",
     "Shows its progress. Exit 0: success or warnings, 1: anything else.\n", READS, 1, 1, cmd_wait},
    {"force", "BUILDER", "Ask for a build",
     "Prints the build's number and the address of its page. Without --revision the branch's tip "
     "is\n"
     "built, without --branch the project's first branch.\n\n"
     "  tailrace force sds-build --branch release-2 --wait\n",
     READS | OPTION_BRANCH | OPTION_REVISION | OPTION_REASON | OPTION_PRIORITY | OPTION_WAIT, 1, 1,
     cmd_force},
    {"rebuild", "BUILD", "Ask for the same build once more",
     "The same builder, branch and revision, as a new build.\n", READS | OPTION_WAIT, 1, 1,
     cmd_rebuild},
    {"cancel", "BUILD", "Stop a build, or take it out of the queue",
     "The whole tree of the step's processes is ended.\n", READS | OPTION_REASON, 1, 1, cmd_cancel},
    {"sendchange", "", "Tell of a change that was pushed",
     "Every builder that the change concerns gets a build. --project, --branch and --revision are\n"
     "needed. The same change told twice is one change.\n",
     READS | OPTION_CHANGE | OPTION_BRANCH | OPTION_REVISION, 0, 0, cmd_sendchange},
    {"slave", "drain|resume NAME", "Take a slave out of work, or back",
     "A drained slave finishes what it runs and gets nothing new.\n", READS | OPTION_REASON, 2, 2,
     cmd_slave},
    {"reload", "", "Let the master read its configuration again",
     "Prints what changes. A bad file changes nothing: its errors are printed, exit 1.\n", READS, 0,
     0, cmd_reload},
};

const size_t verbs_n = sizeof verbs / sizeof verbs[0];

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < verbs_n; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

const char *verb_near(const char *name)
{
    const char *names[sizeof verbs / sizeof verbs[0]];

    for (size_t i = 0; i < verbs_n; i++)
        names[i] = verbs[i].name;
    return text_nearest(view_of(name), names, verbs_n);
}
