/* The verbs that ask for builds: force, rebuild, sendchange. */
#include "client/cmd.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/cli.h"
#include "client/roster.h"
#include "client/uri.h"
#include "client/watch.h"
#include "common/base/ident.h"
#include "common/base/json_out.h"

enum { START_BODY_MAX = 16 * 1024 * 1024 };

static void kv(struct json_out *j, const char *key, const char *value)
{
    if (value)
        json_kv_str(j, key, value);
}

/* What the master refused, said once; a builder that it does not know with the nearest that it
 * does.
 */
static void refused(struct cli *cli, const char *builder, const struct err *err)
{
    struct err guess = ERR_INIT;

    if (builder && err->code == ERR_NOTFOUND &&
        roster_find(&cli->api, builder, &guess) == ERR_NOTFOUND)
        err = &guess;
    (void)cli_trouble(err);
}

/* The build's number and page. */
static void start_print(struct cli *cli, const struct api_reply *reply, uint64_t id)
{
    struct str out = STR_INIT(PRINT_MAX);

    str_printf(&out, "%llu ", (unsigned long long)id);
    print_clean(&out, json_get_text(reply->doc, "url"));
    str_putc(&out, '\n');
    term_write(&cli->out, &out);
    str_release(&out);
}

/*
 * POST, and tell of the build that came of it: its number and page, or with --wait all until its
 * end. The key lets a call that broke be repeated without a second build. builder is NULL when none
 * was named.
 */
static int start(struct cli *cli, const char *path, const char *builder, struct view body)
{
    struct api_reply reply = API_REPLY_INIT;
    struct err err = ERR_INIT;
    char key[IDENT_MAX];
    uint64_t id;
    int code = CLI_OK;

    ident_new(clock_wall_ms(cli->clock), key);
    if (api_call(&cli->api, "POST", path, body, key, &reply, &err)) {
        refused(cli, builder, &err);
        code = CLI_TROUBLE;
    } else {
        id = (uint64_t)json_get_int(reply.doc, "id", 0);
        if (!cli->args.json)
            start_print(cli, &reply, id);
        else if (!cli->args.wait) /* else the finished build is what is printed */
            cli_print_json(&cli->out, &reply);
        if (cli->args.wait)
            code = watch_build(cli, id, reply.doc);
    }
    api_reply_release(&reply);
    return code;
}

/* Who asks, for the pages; the master may know better by the token. */
static const char *user_name(void)
{
    const char *user = getenv("USER");

    if (!user || !*user)
        user = getenv("LOGNAME");
    return user && *user ? user : NULL;
}

int cmd_force(struct cli *cli)
{
    const struct args *args = &cli->args;
    struct str body = STR_INIT(START_BODY_MAX);
    struct json_out j;
    int code;

    json_out_init(&j, &body);
    json_object(&j);
    kv(&j, "builder", args->words.v[0]);
    kv(&j, "branch", args->branch);
    kv(&j, "revision", args->revision);
    kv(&j, "reason", args->reason);
    kv(&j, "priority", args->priority);
    kv(&j, "author", user_name());
    json_end(&j);
    code = start(cli, "/force", args->words.v[0], str_view(&body));
    str_release(&body);
    return code;
}

int cmd_rebuild(struct cli *cli)
{
    struct err err = ERR_INIT;
    char path[64];
    uint64_t id;

    if (uri_build_id(cli->args.words.v[0], &id, &err))
        return cli_trouble(&err);
    (void)snprintf(path, sizeof path, "/builds/%llu/rebuild", (unsigned long long)id);
    return start(cli, path, NULL, view_of("{}"));
}

static enum err_code change_body(const struct args *args, struct str *body, struct err *err)
{
    struct json_out j;
    size_t bytes = 0;

    if (!args->project || !args->branch || !args->revision)
        return err_set(err, ERR_CONFIG, "sendchange: expected --project, --branch and --revision");
    for (size_t i = 0; i < args->files.n; i++)
        bytes += view_of(args->files.v[i]).n;
    if (bytes > START_BODY_MAX / 8) /* a byte may take six as JSON */
        return err_set(err, ERR_LIMIT, "sendchange: the names of the files are too much");
    json_out_init(&j, body);
    json_object(&j);
    kv(&j, "project", args->project);
    kv(&j, "branch", args->branch);
    kv(&j, "revision", args->revision);
    kv(&j, "author", args->author);
    kv(&j, "comment", args->comment);
    json_key(&j, "files");
    json_array(&j);
    for (size_t i = 0; i < args->files.n; i++)
        json_str(&j, args->files.v[i]);
    json_end(&j);
    json_end(&j);
    return ERR_OK;
}

static void change_print(struct cli *cli, const struct api_reply *reply)
{
    const struct json *builds = json_get(reply->doc, "builds");
    struct str out = STR_INIT(PRINT_MAX);

    str_printf(&out, "change %lld%s:", (long long)json_get_int(reply->doc, "id", 0),
               reply->status == 200 ? " (known already)" : "");
    for (size_t i = 0; i < json_len(builds) && out.n < PRINT_MAX / 2; i++)
        str_printf(&out, "%s %lld",
                   i                      ? ""
                   : json_len(builds) > 1 ? " builds"
                                          : " build",
                   (long long)json_int(json_at(builds, i), 0));
    if (json_len(builds) == 0)
        str_put(&out, " no builder wants it");
    str_putc(&out, '\n');
    term_write(&cli->out, &out);
    str_release(&out);
}

int cmd_sendchange(struct cli *cli)
{
    struct api_reply reply = API_REPLY_INIT;
    struct str body = STR_INIT(START_BODY_MAX);
    struct err err = ERR_INIT;
    char key[IDENT_MAX];
    int code = CLI_TROUBLE;

    if (change_body(&cli->args, &body, &err)) {
        (void)cli_trouble(&err);
    } else {
        ident_new(clock_wall_ms(cli->clock), key);
        if (cli_post(cli, "/changes", str_view(&body), key, &reply)) {
            if (!cli->args.json)
                change_print(cli, &reply);
            code = CLI_OK;
        }
    }
    str_release(&body);
    api_reply_release(&reply);
    return code;
}
