#include "client/args.h"

#include <popt.h>
#include <stdio.h>
#include <string.h>

#include "client/uri.h"
#include "common/base/mem.h"

enum { ARGS_OPTIONS_MAX = 32, ARGS_LIMIT_MAX = 1000, ARGS_ATTEMPT_MAX = 1000 };

/* What popt hands back; each has one case in option_take. */
enum {
    VAL_HELP = 'h',
    VAL_VERSION = 'V',
    VAL_JSON = 256,
    VAL_MASTER,
    VAL_TOKEN_FILE,
    VAL_BUILDER,
    VAL_BRANCH,
    VAL_LIMIT,
    VAL_STATE,
    VAL_RESULT,
    VAL_REVISION,
    VAL_REASON,
    VAL_PRIORITY,
    VAL_WAIT,
    VAL_PROJECT,
    VAL_AUTHOR,
    VAL_COMMENT,
    VAL_FILE,
    VAL_FOLLOW,
    VAL_ATTEMPT,
    VAL_STDERR,
};

#define FLAG(name, letter, val, help)                                                              \
    {                                                                                              \
        name, letter, POPT_ARG_NONE, NULL, val, help, NULL                                         \
    }
#define TEXT(name, letter, val, help, what)                                                        \
    {                                                                                              \
        name, letter, POPT_ARG_STRING, NULL, val, help, what                                       \
    }

/* Every option there is, and the bit by which a verb takes it; 0 is taken by all. */
static const struct {
    unsigned bit;
    struct poptOption option;
} all_options[] = {
    {OPTION_BUILDER, TEXT("builder", 'b', VAL_BUILDER, "only this builder", "NAME")},
    {OPTION_BRANCH, TEXT("branch", 'B', VAL_BRANCH, "the branch", "NAME")},
    {OPTION_STATE,
     TEXT("state", 0, VAL_STATE, "waiting, queued, running, detached, finished", "STATE")},
    {OPTION_RESULT,
     TEXT("result", 0, VAL_RESULT, "success, warnings, failure, exception, cancelled", "RESULT")},
    {OPTION_LIMIT, TEXT("limit", 'n', VAL_LIMIT, "at most so many, 1 to 1000 (20)", "N")},
    {OPTION_CHANGE, TEXT("project", 'p', VAL_PROJECT, "the project", "NAME")},
    {OPTION_REVISION, TEXT("revision", 'r', VAL_REVISION, "the revision", "REV")},
    {OPTION_CHANGE, TEXT("author", 'a', VAL_AUTHOR, "who made the change", "TEXT")},
    {OPTION_CHANGE, TEXT("comment", 'c', VAL_COMMENT, "what it is for", "TEXT")},
    {OPTION_CHANGE, TEXT("file", 'f', VAL_FILE, "a file it touches; may be repeated", "PATH")},
    {OPTION_REASON, TEXT("reason", 0, VAL_REASON, "why, for the pages", "TEXT")},
    {OPTION_PRIORITY, TEXT("priority", 0, VAL_PRIORITY, "high, normal or low", "CLASS")},
    {OPTION_WAIT, FLAG("wait", 'w', VAL_WAIT, "wait for its end; exit 1 if it fails")},
    {OPTION_FOLLOW, FLAG("follow", 'f', VAL_FOLLOW, "go on while the step is running")},
    {OPTION_ATTEMPT, TEXT("attempt", 0, VAL_ATTEMPT, "an earlier attempt of the build", "N")},
    {OPTION_STDERR,
     FLAG("stderr", 0, VAL_STDERR, "the log of standard error, of a step with stderr: separate")},
    {OPTION_JSON, FLAG("json", 0, VAL_JSON, "print the master's answer as it is")},
    {OPTION_MASTER,
     TEXT("master", 'm', VAL_MASTER, "the master's address (or TAILRACE_MASTER)", "URL")},
    {OPTION_MASTER, TEXT("token-file", 0, VAL_TOKEN_FILE,
                         "where the token is (or TAILRACE_TOKEN holds it)", "FILE")},
    {OPTION_VERSION, FLAG("version", 'V', VAL_VERSION, "print the version")},
    {0, FLAG("help", 'h', VAL_HELP, "print this help")},
};

enum { GLOBAL_OPTIONS = OPTION_JSON | OPTION_MASTER | OPTION_VERSION };

void args_release(struct args *args)
{
    char **const texts[] = {
        &args->master,   &args->token_file, &args->builder,  &args->branch,
        &args->state,    &args->result,     &args->revision, &args->reason,
        &args->priority, &args->project,    &args->author,   &args->comment,
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
    text_list_release(&args->files);
    text_list_release(&args->words);
}

static void table_make(unsigned options, struct poptOption table[ARGS_OPTIONS_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < sizeof all_options / sizeof all_options[0]; i++)
        if (!all_options[i].bit || (all_options[i].bit & options))
            table[n++] = all_options[i].option;
    table[n] = (struct poptOption)POPT_TABLEEND;
}

/* Given twice, the last one counts. */
static enum err_code text_take(char **to, char *value, const char *name, struct err *err)
{
    if (strlen(value) > URI_PART_MAX)
        return err_set(err, ERR_CONFIG, "--%s: longer than %d bytes", name, URI_PART_MAX);
    free(*to);
    *to = xstrdup(value);
    return ERR_OK;
}

static enum err_code number_take(uint64_t *to, char *value, uint64_t most, const char *name,
                                 struct err *err)
{
    if (text_u64(view_of(value), 1, most, to, NULL) != ERR_OK)
        return err_set(err, ERR_CONFIG, "--%s: expected a number from 1 to %llu, not '%.100s'",
                       name, (unsigned long long)most, value);
    return ERR_OK;
}

static enum err_code word_take(char **to, char *value, const char *const *words, size_t n,
                               const char *name, struct err *err)
{
    const char *near = text_nearest(view_of(value), words, n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(words[i], value) == 0)
            return text_take(to, value, name, err);
    return err_set(err, ERR_CONFIG, "--%s: there is no %s '%.100s'%s%s%s", name, name, value,
                   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static enum err_code flag_take(bool *to)
{
    *to = true;
    return ERR_OK;
}

/* value is NULL for flags only. */
static enum err_code option_take(struct args *args, int val, char *value, struct err *err)
{
    static const char *const states[] = {"waiting", "queued", "running", "detached", "finished"};
    static const char *const results[] = {"success",   "warnings",  "failure",
                                          "exception", "cancelled", "skipped"};
    static const char *const classes[] = {"high", "normal", "low"};

    switch (val) {
    case VAL_HELP:
        return flag_take(&args->help);
    case VAL_VERSION:
        return flag_take(&args->version);
    case VAL_JSON:
        return flag_take(&args->json);
    case VAL_WAIT:
        return flag_take(&args->wait);
    case VAL_FOLLOW:
        return flag_take(&args->follow);
    case VAL_STDERR:
        return flag_take(&args->stderr_log);
    case VAL_MASTER:
        return text_take(&args->master, value, "master", err);
    case VAL_TOKEN_FILE:
        return text_take(&args->token_file, value, "token-file", err);
    case VAL_BUILDER:
        return text_take(&args->builder, value, "builder", err);
    case VAL_BRANCH:
        return text_take(&args->branch, value, "branch", err);
    case VAL_REVISION:
        return text_take(&args->revision, value, "revision", err);
    case VAL_REASON:
        return text_take(&args->reason, value, "reason", err);
    case VAL_PROJECT:
        return text_take(&args->project, value, "project", err);
    case VAL_AUTHOR:
        return text_take(&args->author, value, "author", err);
    case VAL_COMMENT:
        return text_take(&args->comment, value, "comment", err);
    case VAL_FILE:
        vec_push(&args->files, NULL);
        return text_take(&args->files.v[args->files.n - 1], value, "file", err);
    case VAL_STATE:
        return word_take(&args->state, value, states, 5, "state", err);
    case VAL_RESULT:
        return word_take(&args->result, value, results, 6, "result", err);
    case VAL_PRIORITY:
        return word_take(&args->priority, value, classes, 3, "priority", err);
    case VAL_LIMIT:
        return number_take(&args->limit, value, ARGS_LIMIT_MAX, "limit", err);
    default: /* VAL_ATTEMPT */
        return number_take(&args->attempt, value, ARGS_ATTEMPT_MAX, "attempt", err);
    }
}

/* The nearest option to a misspelt one ("--brnch"), or NULL. */
static const char *option_near(const struct poptOption *table, const char *bad)
{
    const char *names[ARGS_OPTIONS_MAX];
    size_t n = 0;

    if (strncmp(bad, "--", 2) != 0)
        return NULL;
    for (; table[n].longName; n++)
        names[n] = table[n].longName;
    return text_nearest(view_bytes(bad + 2, strcspn(bad + 2, "=")), names, n);
}

static enum err_code popt_refused(poptContext con, int rc, const struct poptOption *table,
                                  struct err *err)
{
    const char *bad = poptBadOption(con, 0);
    const char *near = rc == POPT_ERROR_BADOPT ? option_near(table, bad) : NULL;

    if (rc == POPT_ERROR_NOARG)
        return err_set(err, ERR_CONFIG, "%.100s: a value is missing", bad);
    if (rc == POPT_ERROR_UNWANTEDARG)
        return err_set(err, ERR_CONFIG, "%.100s: takes no value", bad);
    if (rc == POPT_ERROR_BADOPT)
        return err_set(err, ERR_CONFIG, "there is no option %.100s here%s%s%s", bad,
                       near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
    return err_set(err, ERR_CONFIG, "%.100s: %s", bad, poptStrerror(rc));
}

/* Takes all options; words are left in the context. */
static enum err_code options_take(poptContext con, const struct poptOption *table,
                                  struct args *args, struct err *err)
{
    enum err_code rc = ERR_OK;
    int val;

    while (rc == ERR_OK && (val = poptGetNextOpt(con)) > 0) {
        char *value = poptGetOptArg(con);

        rc = option_take(args, val, value, err);
        free(value);
    }
    if (rc == ERR_OK && val < -1)
        rc = popt_refused(con, val, table, err);
    return rc;
}

static int count(const char **words)
{
    int n = 0;

    while (words && words[n])
        n++;
    return n;
}

enum err_code args_parse_global(int argc, const char *const *argv, struct args *args, int *rest,
                                struct err *err)
{
    struct poptOption table[ARGS_OPTIONS_MAX];
    poptContext con;
    enum err_code rc;

    table_make(GLOBAL_OPTIONS, table);
    con = poptGetContext(NULL, argc, (const char **)argv, table, POPT_CONTEXT_POSIXMEHARDER);
    rc = options_take(con, table, args, err);
    if (rc == ERR_OK)
        *rest = argc - count(poptGetArgs(con));
    poptFreeContext(con);
    return rc;
}

static enum err_code words_take(const struct verb *verb, const char **words, struct args *args,
                                struct err *err)
{
    for (; words && *words; words++) {
        if (strlen(*words) > URI_PART_MAX)
            return err_set(err, ERR_CONFIG, "a word is longer than %d bytes", URI_PART_MAX);
        vec_push(&args->words, xstrdup(*words));
    }
    if (args->help)
        return ERR_OK;
    if (args->words.n < verb->least)
        return err_set(err, ERR_CONFIG, "%s: expected %s", verb->name, verb->operands);
    if (args->words.n > verb->most)
        return err_set(err, ERR_CONFIG, "%s: '%.100s' is one word too many", verb->name,
                       args->words.v[verb->most]);
    return ERR_OK;
}

enum err_code args_parse_verb(const struct verb *verb, int argc, const char *const *argv,
                              struct args *args, struct err *err)
{
    struct poptOption table[ARGS_OPTIONS_MAX];
    poptContext con;
    enum err_code rc;

    table_make(verb->options, table);
    con = poptGetContext(NULL, argc, (const char **)argv, table, 0);
    rc = options_take(con, table, args, err);
    if (rc)
        err_prefix(err, "%s", verb->name);
    else
        rc = words_take(verb, poptGetArgs(con), args, err);
    poptFreeContext(con);
    return rc;
}

static void options_print(const char *usage, const char *operands, unsigned options)
{
    struct poptOption table[ARGS_OPTIONS_MAX];
    const char *argv[] = {usage, NULL};
    poptContext con;

    table_make(options, table);
    con = poptGetContext(NULL, 1, argv, table, 0);
    poptSetOtherOptionHelp(con, operands);
    poptPrintHelp(con, stdout, 0);
    poptFreeContext(con);
}

void args_print_help(const struct verb *verb)
{
    char *usage = xasprintf("tailrace %s", verb->name);
    char *operands = xasprintf("%s%s[OPTION...]", verb->operands, *verb->operands ? " " : "");

    (void)printf("%s.\n\n%s\n", verb->summary, verb->details);
    (void)fflush(stdout);
    options_print(usage, operands, verb->options);
    free(operands);
    free(usage);
}

void args_print_global_options(void)
{
    options_print("tailrace", "[OPTION...] COMMAND [ARGUMENT...]", GLOBAL_OPTIONS);
}
