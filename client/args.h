/*
 * args: the command line's words read. A verb says which options it takes and how many words;
 * everything else is a sentence about what is wrong. Only this module knows popt. Prints only when
 * asked for help.
 */
#ifndef TAILRACE_CLIENT_ARGS_H
#define TAILRACE_CLIENT_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/text.h"

/* Bits of verb.options. */
enum {
    OPTION_JSON = 1 << 0,
    OPTION_MASTER = 1 << 1, /* --master and --token-file */
    OPTION_BUILDER = 1 << 2,
    OPTION_BRANCH = 1 << 3,
    OPTION_LIMIT = 1 << 4,
    OPTION_STATE = 1 << 5,
    OPTION_RESULT = 1 << 6,
    OPTION_REVISION = 1 << 7,
    OPTION_REASON = 1 << 8,
    OPTION_PRIORITY = 1 << 9,
    OPTION_WAIT = 1 << 10,
    OPTION_CHANGE = 1 << 11, /* --project, --author, --comment, --file */
    OPTION_FOLLOW = 1 << 12,
    OPTION_ATTEMPT = 1 << 13,
    OPTION_VERSION = 1 << 14,
    OPTION_STDERR = 1 << 15,
};

/* What was asked for. Texts are NULL, numbers 0 when not given. All owned (args_release). */
struct args {
    bool json, wait, follow, stderr_log, help, version;
    char *master, *token_file;
    char *builder, *branch, *state, *result, *revision, *reason, *priority;
    char *project, *author, *comment;
    text_list files;
    uint64_t limit, attempt;
    text_list words; /* what is no option, in order */
};

struct cli;

/* One verb of the command line; a constant. */
struct verb {
    const char *name;
    const char *operands;        /* as help shows them: "BUILDER" */
    const char *summary;         /* one line */
    const char *details;         /* whole lines, each ended */
    unsigned options;            /* OPTION_ bits */
    size_t least, most;          /* words */
    int (*run)(struct cli *cli); /* returns the exit code */
};

void args_release(struct args *args);

/* Reads what stands before the verb. The verb and all behind it are left: *rest is its index in
 * argv, argc when there is none. Adds to *args, which is zeroed at first; ERR_CONFIG for what is
 * wrong. */
enum err_code args_parse_global(int argc, const char *const *argv, struct args *args, int *rest,
                                struct err *err) TAILRACE_MUST_CHECK;

/* Reads the options and words behind a verb; argv[0] is the verb. Options and words may be mixed;
 * "--" ends the options. ERR_CONFIG for what is wrong, unless args->help was asked for. */
enum err_code args_parse_verb(const struct verb *verb, int argc, const char *const *argv,
                              struct args *args, struct err *err) TAILRACE_MUST_CHECK;

/* Prints a verb's usage, what it does and its options on standard output. */
void args_print_help(const struct verb *verb);
/* Prints the options that stand before any verb. */
void args_print_global_options(void);

#endif
