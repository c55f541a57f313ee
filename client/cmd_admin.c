/* The verbs that change the farm: slave, queue pause and resume, reload. */
#include "client/cmd.h"

#include <string.h>

#include "client/cli.h"
#include "client/uri.h"
#include "common/base/json_out.h"

/* words[0] must be one of the two actions; the sentence says what was expected. */
static bool action_is_known(const struct args *args, const char *verb, const char *one,
                            const char *other)
{
    const char *action = args->words.v[0];
    bool known = strcmp(action, one) == 0 || strcmp(action, other) == 0;

    if (!known)
        print_complain("%s: expected %s or %s, not '%.100s'", verb, one, other, action);
    return known;
}

/* POST /what/NAME/ACTION with the user's reason. */
static bool action_post(struct cli *cli, const char *what, struct api_reply *reply)
{
    const struct args *args = &cli->args;
    struct str path = STR_INIT(URI_MAX);
    struct str body = STR_INIT(URI_MAX);
    struct json_out j;
    bool ok;

    uri_segment(&path, what);
    uri_segment(&path, args->words.v[1]);
    uri_segment(&path, args->words.v[0]);
    json_out_init(&j, &body);
    json_object(&j);
    if (args->reason)
        json_kv_str(&j, "reason", args->reason);
    json_end(&j);
    ok = cli_post(cli, str_cstr(&path), str_view(&body), NULL, reply);
    str_release(&path);
    str_release(&body);
    return ok;
}

int cmd_slave(struct cli *cli)
{
    struct api_reply reply = API_REPLY_INIT;
    struct str out = STR_INIT(PRINT_MAX);
    const char *state;
    int64_t running;

    if (!action_is_known(&cli->args, "slave", "drain", "resume") ||
        !action_post(cli, "slaves", &reply)) {
        api_reply_release(&reply);
        return CLI_TROUBLE;
    }
    state = json_get_text(reply.doc, "state");
    running = json_get_int(reply.doc, "running", 0);
    str_put(&out, "slave ");
    print_clean(&out, cli->args.words.v[1]);
    str_put(&out, " is ");
    print_styled(&out, cli->out.colour, print_style_of(state), state ? state : "?");
    if (running)
        str_printf(&out, ", %lld build%s running there", (long long)running,
                   running == 1 ? "" : "s");
    str_putc(&out, '\n');
    if (!cli->args.json)
        term_write(&cli->out, &out);
    str_release(&out);
    api_reply_release(&reply);
    return CLI_OK;
}

int cmd_pool_switch(struct cli *cli)
{
    struct api_reply reply = API_REPLY_INIT;
    struct str out = STR_INIT(PRINT_MAX);

    if (!action_is_known(&cli->args, "queue", "pause", "resume"))
        return CLI_TROUBLE;
    if (cli->args.words.n < 2) {
        print_complain("queue: expected the name of a pool behind %s", cli->args.words.v[0]);
        return CLI_TROUBLE;
    }
    if (!action_post(cli, "pools", &reply)) {
        api_reply_release(&reply);
        return CLI_TROUBLE;
    }
    str_put(&out, "pool ");
    print_clean(&out, cli->args.words.v[1]);
    if (json_truth(json_get(reply.doc, "paused"), false))
        str_printf(&out, " is paused: %lld running, %lld queued until resumed\n",
                   (long long)json_get_int(reply.doc, "running", 0),
                   (long long)json_get_int(reply.doc, "queued", 0));
    else
        str_put(&out, " starts builds\n");
    if (!cli->args.json)
        term_write(&cli->out, &out);
    str_release(&out);
    api_reply_release(&reply);
    return CLI_OK;
}

/* Lines "added  builder sds-build"; returns how many. */
static size_t reload_list(struct str *out, const struct json *doc, const char *word)
{
    const struct json *list = json_get(doc, word);

    for (size_t i = 0; i < json_len(list) && out->n < PRINT_MAX / 2; i++) {
        str_printf(out, "%-10s", word);
        print_clean(out, json_text(json_at(list, i)));
        str_putc(out, '\n');
    }
    return json_len(list);
}

static void reload_print(struct cli *cli, const struct json *doc)
{
    struct str out = STR_INIT(PRINT_MAX);
    size_t n = reload_list(&out, doc, "added");

    n += reload_list(&out, doc, "changed");
    n += reload_list(&out, doc, "removed");
    n += reload_list(&out, doc, "draining");
    if (n == 0)
        str_put(&out, "reloaded; nothing is different\n");
    term_write(&cli->out, &out);
    str_release(&out);
}

/* A refused file's errors, as `tailrace check` prints them; false when the answer holds none. */
static bool reload_errors(struct cli *cli, const struct api_reply *reply)
{
    struct str out = STR_INIT(PRINT_MAX);
    struct json *doc = NULL;
    const struct json *errors;
    size_t n;

    if (reply->status != 422 || json_parse(str_view(&reply->body), &doc, NULL))
        return false;
    errors = json_get(doc, "errors");
    if (json_is_null(errors))
        errors = json_get(json_get(doc, "error"), "errors");
    n = json_len(errors);
    for (size_t i = 0; i < n && out.n < PRINT_MAX / 2; i++) {
        print_clean(&out, json_text(json_at(errors, i)));
        str_putc(&out, '\n');
    }
    if (n && cli->args.json)
        cli_print_json(&cli->out, reply);
    else if (n)
        term_write(&cli->out, &out);
    str_release(&out);
    json_free(doc);
    return n > 0;
}

int cmd_reload(struct cli *cli)
{
    struct api_reply reply = API_REPLY_INIT;
    struct err err = ERR_INIT;
    int code = CLI_OK;

    if (api_call(&cli->api, "POST", "/reload", VIEW_NULL, NULL, &reply, &err)) {
        if (reload_errors(cli, &reply)) {
            print_complain("reload: nothing has changed, the file has errors");
            code = CLI_FAILED;
        } else {
            code = cli_trouble(&err);
        }
    } else if (cli->args.json) {
        cli_print_json(&cli->out, &reply);
    } else {
        reload_print(cli, reply.doc);
    }
    api_reply_release(&reply);
    return code;
}
