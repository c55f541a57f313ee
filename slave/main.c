/*
 * tailrace-slave: reads the command line and runs one agent until a signal stops it.
 */
#include <popt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/io/loop.h"
#include "common/io/proc.h"
#include "common/io/sig.h"
#include "slave/agent.h"
#include "slave/config.h"

enum { EXIT_USAGE = 2 };

/* What the command line said; texts are owned, NULL when not given. */
struct options {
    char *config_file, *master, *name, *secret_file, *dir, *log_format, *log_level;
    int slots; /* -1 when not given */
    int version;
};

static void options_release(struct options *options)
{
    free(options->config_file);
    free(options->master);
    free(options->name);
    free(options->secret_file);
    free(options->dir);
    free(options->log_format);
    free(options->log_level);
}

static bool options_parse(int argc, const char **argv, struct options *o)
{
    const struct poptOption table[] = {
        {"config", 'c', POPT_ARG_STRING, &o->config_file, 0, "read slave.yaml", "FILE"},
        {"master", 'm', POPT_ARG_STRING, &o->master, 0, "the master's address", "HOST:PORT"},
        {"name", 'n', POPT_ARG_STRING, &o->name, 0, "this slave's name (default: the host's)", "N"},
        {"secret-file", 's', POPT_ARG_STRING, &o->secret_file, 0,
         "file with the secret shared with the master", "FILE"},
        {"dir", 'd', POPT_ARG_STRING, &o->dir, 0, "folder for work and journals", "DIR"},
        {"slots", '\0', POPT_ARG_INT, &o->slots, 0, "builds at a time (default: 1)", "N"},
        {"log-format", '\0', POPT_ARG_STRING, &o->log_format, 0, "text (default) or json", "F"},
        {"log-level", '\0', POPT_ARG_STRING, &o->log_level, 0,
         "debug, info (default), warn or error", "L"},
        {"version", '\0', POPT_ARG_NONE, &o->version, 0, "print the version", NULL},
        POPT_AUTOHELP POPT_TABLEEND,
    };
    poptContext context = poptGetContext("tailrace-slave", argc, argv, table, 0);
    int rc = poptGetNextOpt(context);
    const char *extra = poptPeekArg(context);
    bool fine = rc == -1 && !extra;

    if (rc < -1)
        (void)fprintf(stderr, "tailrace-slave: %s: %s\n",
                      poptBadOption(context, POPT_BADOPTION_NOALIAS), poptStrerror(rc));
    else if (extra)
        (void)fprintf(stderr, "tailrace-slave: unexpected argument '%s'\n", extra);
    poptFreeContext(context);
    return fine;
}

static bool log_open(const struct options *options)
{
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    const char *level = options->log_level ? options->log_level : "info";
    struct err err = ERR_INIT;
    size_t i = 0;

    while (i < sizeof levels / sizeof *levels && strcmp(levels[i], level) != 0)
        i++;
    if (i == sizeof levels / sizeof *levels)
        (void)err_set(&err, ERR_CONFIG, "--log-level %s: expected debug, info, warn or error",
                      level);
    else if (log_setup(options->log_format ? options->log_format : "text", (enum log_level)i,
                       &err) == ERR_OK)
        return true;
    (void)fprintf(stderr, "tailrace-slave: %s\n", err.msg);
    return false;
}

static char *move_text(char **from)
{
    char *text = *from;

    *from = NULL;
    return text;
}

static bool config_open(struct options *options, struct config *config)
{
    struct yaml_errors errors = {0};
    struct err err = ERR_INIT;
    bool fine = true;
    size_t i;

    config->master = move_text(&options->master);
    config->name = move_text(&options->name);
    config->secret_file = move_text(&options->secret_file);
    config->dir = move_text(&options->dir);
    if (options->slots < -1 || options->slots == 0 || options->slots > CONFIG_SLOTS_MAX) {
        (void)fprintf(stderr, "tailrace-slave: --slots: expected 1 to %d\n", CONFIG_SLOTS_MAX);
        return false;
    }
    config->slots = options->slots < 0 ? 0 : (uint32_t)options->slots;
    if (options->config_file)
        fine = config_load(options->config_file, config, &errors);
    for (i = 0; i < errors.v.n; i++)
        (void)fprintf(stderr, "%s\n", errors.v.v[i]);
    yaml_errors_release(&errors);
    if (fine && config_complete(config, &err) != ERR_OK) {
        (void)fprintf(stderr, "tailrace-slave: %s\n", err.msg);
        fine = false;
    }
    return fine;
}

static void on_stop_signal(void *owner, int signal)
{
    log_info("agent.signal", LOG_STR("signal", strsignal(signal)));
    agent_stop(owner);
}

static void on_hangup(void *owner, int signal)
{
    (void)owner;
    (void)signal;
    log_info("agent.hangup", LOG_STR("note", "there is nothing to read again"));
}

static void on_stopped(void *owner)
{
    loop_stop(owner);
}

static enum err_code watch_signals(struct loop *loop, struct agent *agent, struct sig sigs[3],
                                   struct err *err)
{
    enum err_code rc = sig_open(&sigs[0], loop, SIGTERM, on_stop_signal, agent, err);

    if (!rc)
        rc = sig_open(&sigs[1], loop, SIGINT, on_stop_signal, agent, err);
    return rc ? rc : sig_open(&sigs[2], loop, SIGHUP, on_hangup, agent, err);
}

static int run(const struct config *config)
{
    struct loop loop;
    struct sig sigs[3];
    struct agent *agent;
    struct err err = ERR_INIT;
    size_t i;

    if (loop_init(&loop, clock_system(), &err) != ERR_OK ||
        agent_new(&loop, config, on_stopped, &loop, &agent, &err) != ERR_OK ||
        watch_signals(&loop, agent, sigs, &err) != ERR_OK) {
        log_error("agent.failed", LOG_ERR(&err));
        return EXIT_FAILURE;
    }
    agent_start(agent);
    loop_run(&loop);
    agent_free(agent);
    for (i = 0; i < sizeof sigs / sizeof *sigs; i++)
        sig_close(&sigs[i]);
    proc_table_close(&loop);
    loop_release(&loop);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options options = {.slots = -1};
    struct config config = CONFIG_INIT;
    int status = EXIT_USAGE;

    if (!options_parse(argc, (const char **)argv, &options))
        goto done;
    if (options.version) {
        (void)printf("tailrace-slave %s\n", TAILRACE_VERSION);
        status = EXIT_SUCCESS;
        goto done;
    }
    if (log_open(&options) && config_open(&options, &config))
        status = run(&config);
done:
    config_release(&config);
    options_release(&options);
    return status;
}
