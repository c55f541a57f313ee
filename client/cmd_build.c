/* The verbs about one build: show, cancel, wait. */
#include "client/cmd.h"

#include <stdio.h>
#include <string.h>

#include "client/cli.h"
#include "client/points.h"
#include "client/table.h"
#include "client/uri.h"
#include "client/watch.h"
#include "client/when.h"
#include "common/base/json_out.h"
#include "common/base/mem.h"

enum { SHOW_METRICS = 40, SHOW_POINT_PAGES = 10 };

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
    const char *word = result ? result : state;
    struct str clean = STR_INIT(8 * PRINT_CELL_MAX);
    char text[WHEN_MAX];

    str_printf(out, "  %-11s", result ? "result" : "state");
    print_clean(&clean, word);
    print_styled(out, colour, print_style_of(word), str_cstr(&clean));
    str_release(&clean);
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
    const char *state = json_get_text(build, "state");
    bool waiting = state && strcmp(state, "waiting") == 0;
    int64_t stands_for = json_get_int(build, "stands_for", 0);
    struct str text = STR_INIT(PRINT_MAX);

    for (size_t i = 0; i < json_len(waits) && text.n < PRINT_CELL_MAX; i++)
        str_printf(&text, "%s%lld", i ? ", " : "build ", (long long)json_int(json_at(waits, i), 0));
    fact(out, waiting ? "waits for" : "came after", str_cstr(&text));
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
    {"STEP", true, TABLE_WHOLE, 0},  {"NAME", false, TABLE_CUT, 0},
    {"KIND", false, TABLE_WHOLE, 4}, {"RESULT", false, TABLE_WHOLE, 0},
    {"EXIT", true, TABLE_WHOLE, 2},  {"TOOK", true, TABLE_WHOLE, 1},
    {"LINES", true, TABLE_WHOLE, 3}, {"REASON", false, TABLE_WRAP, 0},
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
    {"ATTEMPT", true, TABLE_WHOLE, 0}, {"SLAVE", false, TABLE_CUT, 0},
    {"RESULT", false, TABLE_WHOLE, 0}, {"TOOK", true, TABLE_WHOLE, 1},
    {"REASON", false, TABLE_WRAP, 0},
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

/* ---- benchmarks ---- */

static bool has_benchmark(const struct json *steps)
{
    for (size_t i = 0; i < json_len(steps); i++) {
        const char *kind = json_get_text(json_at(steps, i), "kind");

        if (kind && strcmp(kind, "benchmark") == 0)
            return true;
    }
    return false;
}

/* Reads the build's points, as many as a screen is worth. */
static bool points_read(struct cli *cli, const struct json *build, struct points *points)
{
    struct api_reply reply = API_REPLY_INIT;
    struct str path = STR_INIT(URI_MAX);
    bool ok = true;
    int64_t next = 0;

    for (int page = 0; ok && page < SHOW_POINT_PAGES && (page == 0 || next > 0); page++) {
        str_clear(&path);
        str_printf(&path, "/builds/%lld/points?limit=1000",
                   (long long)json_get_int(build, "id", 0));
        if (next > 0)
            uri_query_u64(&path, "before", (uint64_t)next);
        ok = cli_get(cli, str_cstr(&path), &reply);
        if (ok)
            points_add(points, reply.doc, build);
        next = json_get_int(reply.doc, "next", 0);
    }
    str_release(&path);
    api_reply_release(&reply);
    return ok;
}

/* "benchmarks: bench wall 0.129 s (3 runs, 0.127 to 0.131)", one line for each. */
static void points_print(struct points *points, struct str *out)
{
    char text[POINTS_TEXT_MAX];
    size_t n = points->metrics.n;

    if (n)
        str_put(out, n == 1 ? "\nbenchmark:\n" : "\nbenchmarks:\n");
    for (size_t i = 0; i < n && i < SHOW_METRICS; i++)
        str_printf(out, "  %s %s\n", points->metrics.v[i].name,
                   points_describe(&points->metrics.v[i], text));
    if (n > SHOW_METRICS)
        str_printf(out, "  and %zu more\n", n - SHOW_METRICS);
}

static bool show_points(struct cli *cli, const struct json *build, struct str *out)
{
    struct points points;
    bool ok;

    if (!has_benchmark(json_get(build, "steps")))
        return true;
    points_init(&points);
    ok = points_read(cli, build, &points);
    points_print(&points, out);
    points_release(&points);
    return ok;
}

static bool show_print(struct cli *cli, const struct json *build)
{
    const struct json *steps = json_get(build, "steps");
    const struct json *attempts = json_get(build, "attempts");
    struct str out = STR_INIT(PRINT_MAX);
    bool ok;

    show_facts(&out, cli->out.colour, build, clock_wall_ms(cli->clock));
    if (json_len(steps))
        rows_print(cli, steps, step_columns, sizeof step_columns / sizeof step_columns[0], step_add,
                   &out);
    if (json_len(attempts) > 1)
        rows_print(cli, attempts, attempt_columns,
                   sizeof attempt_columns / sizeof attempt_columns[0], attempt_add, &out);
    ok = show_points(cli, build, &out);
    term_write(&cli->out, &out);
    str_release(&out);
    return ok;
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
        ok = show_print(cli, reply.doc);
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

/* "build 28 has finished already: skipped, app (build 27) ended with cancelled" */
static void cancel_refused(struct cli *cli, uint64_t id, int status, const struct err *err)
{
    struct api_reply reply = API_REPLY_INIT;
    const char *result = NULL;
    const char *note;
    char path[64];

    (void)snprintf(path, sizeof path, "/builds/%llu", (unsigned long long)id);
    if (status == 409 && api_get(&cli->api, path, &reply, NULL) == ERR_OK)
        result = json_get_text(reply.doc, "result");
    note = json_get_text(reply.doc, "note");
    if (result)
        print_complain("build %llu has finished already: %s%s%.300s", (unsigned long long)id,
                       result, note ? ", " : "", note ? note : "");
    else
        (void)cli_trouble(err);
    api_reply_release(&reply);
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
    ok = api_call(&cli->api, "POST", path, str_view(&body), NULL, &reply, &err) == ERR_OK;
    if (!ok)
        cancel_refused(cli, id, reply.status, &err);
    else if (cli->args.json)
        cli_print_json(&cli->out, &reply);
    else
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
