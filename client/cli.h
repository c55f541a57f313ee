/*
 * cli: one run of the command line: words in, exit code out. A verb's function gets a struct cli,
 * prints to cli->out, and returns the exit code; what goes wrong is said once, on standard error.
 */
#ifndef TAILRACE_CLIENT_CLI_H
#define TAILRACE_CLIENT_CLI_H

#include "client/api.h"
#include "client/args.h"
#include "client/print.h"
#include "common/base/clock.h"
#include "common/base/err.h"

/* Scripts rely on these. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,  /* the build or the check failed */
    CLI_TROUBLE = 2, /* wrong usage, or the master cannot be asked or refuses */
};

struct cli {
    struct args args;
    struct api api; /* made before the verb runs, when it takes OPTION_MASTER */
    struct term out;
    const struct clock *clock;
};

/* The whole program; main only calls it. */
int cli_main(int argc, const char *const *argv);

/* Says what went wrong and returns CLI_TROUBLE: "return cli_trouble(&err);" */
int cli_trouble(const struct err *err);

/* GET path; *reply is the caller's (api_reply_release). False: the user has been told. With --json
 * the answer has been printed. */
bool cli_get(struct cli *cli, const char *path, struct api_reply *reply);
/* As cli_get, for POST with a body and a key, which may be NULL. */
bool cli_post(struct cli *cli, const char *path, struct view body, const char *key,
              struct api_reply *reply);
/* Prints an answer as it came, ended by a newline. */
void cli_print_json(struct term *to, const struct api_reply *reply);

#endif
