#include "client/cli.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/verbs.h"

int cli_trouble(const struct err *err)
{
    print_complain("%s", err->msg);
    return CLI_TROUBLE;
}

void cli_print_json(struct term *to, const struct api_reply *reply)
{
    struct str text = STR_INIT(API_BODY_MAX + 1);

    str_put_view(&text, str_view(&reply->body));
    if (text.n && text.p[text.n - 1] != '\n')
        str_putc(&text, '\n');
    term_write(to, &text);
    str_release(&text);
}

bool cli_post(struct cli *cli, const char *path, struct view body, const char *key,
              struct api_reply *reply)
{
    struct err err = ERR_INIT;

    if (api_call(&cli->api, "POST", path, body, key, reply, &err)) {
        (void)cli_trouble(&err);
        return false;
    }
    if (cli->args.json)
        cli_print_json(&cli->out, reply);
    return true;
}

bool cli_get(struct cli *cli, const char *path, struct api_reply *reply)
{
    struct err err = ERR_INIT;

    if (api_get(&cli->api, path, reply, &err)) {
        (void)cli_trouble(&err);
        return false;
    }
    if (cli->args.json)
        cli_print_json(&cli->out, reply);
    return true;
}

static int help_all(void)
{
    (void)printf(
        "tailrace talks to a Tailrace master: it shows builds and logs, and starts builds.\n"
        "\nCommands:\n");
    for (size_t i = 0; i < verbs_n; i++) {
        int used = printf("  %s %s", verbs[i].name, verbs[i].operands);

        (void)printf("%*s%s\n", used < 30 ? 30 - used : 1, "", verbs[i].summary);
    }
    (void)printf("  help [COMMAND]              This, or what a command does and takes\n\n");
    (void)fflush(stdout);
    args_print_global_options();
    (void)printf(
        "\nThe master is found at --master, TAILRACE_MASTER or http://127.0.0.1:8010; a token "
        "in\n--token-file, TAILRACE_TOKEN or ~/.config/tailrace/token.\n"
        "Exit codes: 0 success, 1 the build or check failed, 2 wrong usage or no master.\n");
    return CLI_OK;
}

/* Complains about a word that is no verb. */
static int verb_unknown(const char *name)
{
    const char *near = verb_near(name);

    if (near)
        print_complain("there is no command '%.100s'; did you mean '%s'?", name, near);
    else
        print_complain("there is no command '%.100s'; see 'tailrace help'", name);
    return CLI_TROUBLE;
}

static int help_verb(const char *name)
{
    const struct verb *verb = verb_find(name);

    if (!verb)
        return verb_unknown(name);
    args_print_help(verb);
    return CLI_OK;
}

static int verb_run(const struct verb *verb, struct cli *cli)
{
    struct err err = ERR_INIT;
    int code;

    if ((verb->options & OPTION_MASTER) == 0)
        return verb->run(cli);
    if (api_init(&cli->api, cli->args.master, cli->args.token_file, &err))
        return cli_trouble(&err);
    code = verb->run(cli);
    api_release(&cli->api);
    return code;
}

/* words[0] is the verb. */
static int verb_start(struct cli *cli, int n, const char *const *words)
{
    const struct verb *verb;
    struct err err = ERR_INIT;

    if (strcmp(words[0], "help") == 0)
        return n > 1 && strcmp(words[1], "help") != 0 ? help_verb(words[1]) : help_all();
    verb = verb_find(words[0]);
    if (!verb)
        return verb_unknown(words[0]);
    if (args_parse_verb(verb, n, words, &cli->args, &err)) {
        (void)cli_trouble(&err);
        (void)fprintf(stderr, "see 'tailrace help %s'\n", verb->name);
        return CLI_TROUBLE;
    }
    if (cli->args.help)
        return help_verb(verb->name);
    if (cli->args.json && (verb->options & OPTION_JSON) == 0) {
        print_complain("%s: there is no --json here", verb->name);
        return CLI_TROUBLE;
    }
    return verb_run(verb, cli);
}

int cli_main(int argc, const char *const *argv)
{
    struct cli cli = {.clock = clock_system()};
    struct err err = ERR_INIT;
    int first = argc;
    int code;

    /* A reader that goes away is a short write to us, not a death. */
    (void)signal(SIGPIPE, SIG_IGN);
    term_init(&cli.out, STDOUT_FILENO);
    if (args_parse_global(argc, argv, &cli.args, &first, &err)) {
        code = cli_trouble(&err);
    } else if (cli.args.version) {
        (void)printf("tailrace " TAILRACE_VERSION "\n");
        code = CLI_OK;
    } else if (first < argc) {
        code = verb_start(&cli, argc - first, argv + first);
    } else {
        code = help_all();
        if (!cli.args.help)
            code = CLI_TROUBLE;
    }
    args_release(&cli.args);
    return code == CLI_OK && cli.out.failed ? CLI_TROUBLE : code;
}
