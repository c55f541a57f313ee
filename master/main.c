/*
 * tailrace-master: options, then master_run().
 */
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "master/config.h"
#include "master/master.h"

static char *option_config, *option_check, *option_format, *option_level;
static int option_version;

static const struct poptOption options[] = {
    {"config", 'c', POPT_ARG_STRING, &option_config, 0, "start with this configuration", "FILE"},
    {"check", 0, POPT_ARG_STRING, &option_check, 0,
     "print the configuration's errors, or what it would run, and exit", "FILE"},
    {"log-format", 0, POPT_ARG_STRING, &option_format, 0, "text (default) or json", "FORMAT"},
    {"log-level", 0, POPT_ARG_STRING, &option_level, 0, "debug, info (default), warn or error",
     "LEVEL"},
    {"version", 'V', POPT_ARG_NONE, &option_version, 0, "print the version and exit", NULL},
    POPT_AUTOHELP POPT_TABLEEND};

static int check(const char *path)
{
    struct yaml_errors errors = {0};
    struct config *config = config_load(path, &errors);
    struct str text = STR_INIT(64 << 20);
    char **error;
    int status = config ? 0 : 1;

    VEC_FOREACH (&errors.v, error) {
        (void)fprintf(stderr, "%s\n", *error);
    }
    if (errors.more)
        (void)fprintf(stderr, "%s: there are more errors\n", path);
    if (config) {
        config_summary(config, &text);
        (void)fwrite(str_cstr(&text), 1, text.n, stdout);
    }
    config_unref(&config);
    yaml_errors_release(&errors);
    str_release(&text);
    return status;
}

static enum log_level level_of(const char *name)
{
    static const char *const names[] = {"debug", "info", "warn", "error"};

    for (int i = 0; name && i < 4; i++) {
        if (strcmp(name, names[i]) == 0)
            return (enum log_level)i;
    }
    return LOG_LEVEL_INFO;
}

static int usage(poptContext context, const char *why)
{
    (void)fprintf(stderr, "tailrace-master: %s\n", why);
    poptPrintUsage(context, stderr, 0);
    return 2;
}

static int run(poptContext context)
{
    struct err err = ERR_INIT;
    int rc = poptGetNextOpt(context);

    if (rc < -1)
        return usage(context, poptStrerror(rc));
    if (poptPeekArg(context))
        return usage(context, "there are only options, no arguments");
    if (option_version) {
        (void)puts("tailrace-master " TAILRACE_VERSION);
        return 0;
    }
    if (log_setup(option_format ? option_format : "text", level_of(option_level), &err))
        return usage(context, err.msg);
    if (option_check)
        return check(option_check);
    if (!option_config)
        return usage(context, "--config FILE is needed");
    if (master_run(option_config, &err)) {
        (void)fprintf(stderr, "tailrace-master: %s\n", err.msg);
        return 1;
    }
    return 0;
}

int main(int argc, const char **argv)
{
    poptContext context = poptGetContext("tailrace-master", argc, argv, options, 0);
    int status = run(context);

    poptFreeContext(context);
    free(option_config);
    free(option_check);
    free(option_format);
    free(option_level);
    return status;
}
