/* The verbs about one build: show, cancel, wait. */
#include "client/cmd.h"

#include <stdio.h>
#include <string.h>

#include "client/cli.h"
#include "client/table.h"
#include "client/uri.h"
#include "client/watch.h"
#include "client/when.h"
#include "common/base/json_out.h"
#include "common/base/mem.h"

static int64_t time_of(const struct json *object, const char *key)
{
    return when_parse(json_get_text(object, key));
}

/* "  name      value"; nothing for an absent value. */
static void fact(struct str *out, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    str_printf(out, "  %-11s", name);
    print_clean(out, value);
    str_putc(out, '\n');
}

static void show_state(struct str *out, bool colour, const struct json *build, int64_t now_ms)
{
    const char *result = json_get_text(build, "result");
    const char *state = json_get_text(build, "state");
    int64_t started_ms = time_of(build, "started_at");
    double expected_s = json_number(json_get(build, "expected_s"), -1);
    const char *word = result ? result : state ? state : "-";
    char text[WHEN_MAX];

    str_printf(out, "  %-11s", result ? "result" : "state");
    print_styled(out, colour, print_style_of(word), word);
    if (started_ms >= 0)
        str_printf(out, ", %s %s", result ? "took" : "for",
                   when_between(started_ms, result ? time_of(build, "finished_at") : now_ms, text));
    if (started_ms >= 0 && expected_s > 0)
        str_printf(out, " (%s is usual)", when_span(expected_s, text));
    str_putc(out, '\n');
}

static void show_slave(struct str *out, const struct json *build)
{
    int64_t attempt = json_get_int(build, "attempt", 0);
    const char *slave = json_get_text(build, "slave");
    char *text;

    if (!slave)
        return;
    text = attempt > 1 ? xasprintf("%.200s (attempt %lld)", slave, (long long)attempt)
                       : xstrdup(slave);
    fact(out, "slave", text);
    free(text);
}

static void show_times(struct str *out, const struct json *build, int64_t now_ms)
{
    int64_t queued_ms = time_of(build, "queued_at");
    int64_t started_ms = time_of(build, "started_at");
    char ago[WHEN_MAX];
    char waited[WHEN_MAX];
    char *text;

    text = xasprintf("%s, waited %s", when_ago(queued_ms, now_ms, ago),
                     when_between(queued_ms, started_ms >= 0 ? started_ms : now_ms, waited));
    fact(out, "asked for", text);
    free(text);
}

static void show_others(struct str *out, const struct json *build)
{
    const struct json *waits = json_get(build, "waits_for");
    int64_t stands_for = json_get_int(build, "stands_for", 0);
    struct str text = STR_INIT(PRINT_MAX);

    for (size_t i = 0; i < json_len(waits) && text.n < PRINT_CELL_MAX; i++)
        str_printf(&text, "%s%lld", i ? ", " : "build ", (long long)json_int(json_at(waits, i), 0));
    fact(out, "waits for", str_cstr(&text));
    str_clear(&text);
    if (stands_for > 0) {
        str_printf(&text, "build %lld", (long long)stands_for);
        fact(out, "see", str_cstr(&text));
    }
    str_release(&text);
}

static void show_facts(struct str *out, bool colour, const struct json *build, int64_t now_ms)
{
    struct str title = STR_INIT(PRINT_MAX);

    str_printf(&title, "Build %lld: ", (long long)json_get_int(build, "id", 0));
    print_clean(&title, json_get_text(build, "builder"));
    str_put(&title, " on ");
    print_clean(&title, json_get_text(build, "branch"));
    print_styled(out, colour, STYLE_BOLD, str_cstr(&title));
    str_putc(out, '\n');
    str_release(&title);
    show_state(out, colour, build, now_ms);
    fact(out, "note", json_get_text(build, "note"));
    fact(out, "revision", json_get_text(build, "revision"));
    fact(out, "author", json_get_text(build, "author"));
    fact(out, "reason", json_get_text(build, "reason"));
    show_slave(out, build);
    show_times(out, build, now_ms);
    show_others(out, build);
    fact(out, "page", json_get_text(build, "url"));
}

static const struct table_column step_columns[] = {
    {"STEP", true, false}, {"NAME", false, false}, {"KIND", false, false}, {"RESULT", false, false},
    {"EXIT", true, false}, {"TOOK", true, false},  {"LINES", true, false}, {"REASON", false, true},
};

static void step_add(struct table *table, const struct json *step, int64_t now_ms)
{
    const char *result = json_get_text(step, "result");
    const char *word = result ? result : json_get_text(step, "state");
    const struct json *log = json_get(step, "log");
    char took[WHEN_MAX];

    table_row(table);
    table_cell_i64(table, json_get_int(step, "number", 0));
    table_cell(table, STYLE_PLAIN, json_get_text(step, "name"));
    table_cell(table, STYLE_PLAIN, json_get_text(step, "kind"));
    table_cell(table, print_style_of(word), word);
    if (json_is_null(json_get(step, "exit_code")))
        table_cell(table, STYLE_PLAIN, NULL);
    else
        table_cell_i64(table, json_get_int(step, "exit_code", 0));
    table_cell(table, STYLE_PLAIN,
               when_between(time_of(step, "started_at"),
                            result ? time_of(step, "finished_at") : now_ms, took));
    if (json_is_null(log))
        table_cell(table, STYLE_PLAIN, NULL);
    else
        table_cell_i64(table, json_get_int(log, "lines", 0));
    table_cell(table, STYLE_PLAIN, json_get_text(step, "reason"));
}

static const struct table_column attempt_columns[] = {
    {"ATTEMPT", true, false}, {"SLAVE", false, false}, {"RESULT", false, false},
    {"TOOK", true, false},    {"REASON", false, true},
};

static void attempt_add(struct table *table, const struct json *attempt, int64_t now_ms)
{
    const char *result = json_get_text(attempt, "result");
    char took[WHEN_MAX];

    table_row(table);
    table_cell_i64(table, json_get_int(attempt, "attempt", 0));
    table_cell(table, STYLE_PLAIN, json_get_text(attempt, "slave"));
    table_cell(table, print_style_of(result), result);
    table_cell(table, STYLE_PLAIN,
               when_between(time_of(attempt, "started_at"),
                            result ? time_of(attempt, "finished_at") : now_ms, took));
    table_cell(table, STYLE_PLAIN, json_get_text(attempt, "reason"));
}

static void rows_print(struct cli *cli, const struct json *rows, const struct table_column *columns,
                       size_t n, void (*add)(struct table *, const struct json *, int64_t),
                       struct str *out)
{
    struct table table;

    table_init(&table, columns, n);
    for (size_t i = 0; i < json_len(rows); i++)
        add(&table, json_at(rows, i), clock_wall_ms(cli->clock));
    str_putc(out, '\n');
    table_print(&table, cli->out.width, cli->out.colour, out);
    table_release(&table);
}

static void show_print(struct cli *cli, const struct json *build)
{
    const struct json *steps = json_get(build, "steps");
    const struct json *attempts = json_get(build, "attempts");
    struct str out = STR_INIT(PRINT_MAX);

    show_facts(&out, cli->out.colour, build, clock_wall_ms(cli->clock));
    if (json_len(steps))
        rows_print(cli, steps, step_columns, sizeof step_columns / sizeof step_columns[0], step_add,
                   &out);
    if (json_len(attempts) > 1)
        rows_print(cli, attempts, attempt_columns,
                   sizeof attempt_columns / sizeof attempt_columns[0], attempt_add, &out);
    term_write(&cli->out, &out);
    str_release(&out);
}

int cmd_show(struct cli *cli)
{
    struct api_reply reply = API_REPLY_INIT;
    struct err err = ERR_INIT;
    char path[64];
    uint64_t id;
    bool ok;

    if (uri_build_id(cli->args.words.v[0], &id, &err))
        return cli_trouble(&err);
    (void)snprintf(path, sizeof path, "/builds/%llu", (unsigned long long)id);
    ok = cli_get(cli, path, &reply);
    if (ok && !cli->args.json)
        show_print(cli, reply.doc);
    api_reply_release(&reply);
    return ok ? CLI_OK : CLI_TROUBLE;
}

static void cancel_print(struct cli *cli, uint64_t id, const struct json *build)
{
    const char *state = json_get_text(build, "state");
    struct str out = STR_INIT(PRINT_MAX);

    str_printf(&out, "build %llu ", (unsigned long long)id);
    if (state && strcmp(state, "finished") == 0)
        str_put(&out, "is cancelled\n");
    else if (json_truth(json_get(build, "already"), false))
        str_put(&out, "is being cancelled already\n");
    else
        str_put(&out, "is being cancelled\n");
    term_write(&cli->out, &out);
    str_release(&out);
}

int cmd_cancel(struct cli *cli)
{
    struct api_reply reply = API_REPLY_INIT;
    struct str body = STR_INIT(URI_MAX);
    struct err err = ERR_INIT;
    struct json_out j;
    char path[64];
    uint64_t id;
    bool ok;

    if (uri_build_id(cli->args.words.v[0], &id, &err))
        return cli_trouble(&err);
    (void)snprintf(path, sizeof path, "/builds/%llu/cancel", (unsigned long long)id);
    json_out_init(&j, &body);
    json_object(&j);
    if (cli->args.reason)
        json_kv_str(&j, "reason", cli->args.reason);
    json_end(&j);
    ok = cli_post(cli, path, str_view(&body), NULL, &reply);
    if (ok && !cli->args.json)
        cancel_print(cli, id, reply.doc);
    str_release(&body);
    api_reply_release(&reply);
    return ok ? CLI_OK : CLI_TROUBLE;
}

int cmd_wait(struct cli *cli)
{
    struct err err = ERR_INIT;
    uint64_t id;

    if (uri_build_id(cli->args.words.v[0], &id, &err))
        return cli_trouble(&err);
    return watch_build(cli, id, NULL);
}
