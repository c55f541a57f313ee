/* The verbs that show lists: status, builders, slaves, queue, builds. */
#include "client/cmd.h"

#include <stdio.h>
#include <string.h>

#include "client/cli.h"
#include "client/roster.h"
#include "client/table.h"
#include "client/uri.h"
#include "client/when.h"
#include "common/base/mem.h"

enum { LISTS_PAGE = 1000, LISTS_BUILDS = 20 };

#define COLUMNS(array) (array), sizeof(array) / sizeof((array)[0])

static int64_t time_of(const struct json *object, const char *key)
{
    return when_parse(json_get_text(object, key));
}

/* Prints a table, or `nothing` when it has no rows, and releases it. */
static void table_end(struct cli *cli, struct table *table, const char *nothing)
{
    struct str text = STR_INIT(PRINT_MAX);

    if (table->cells.n)
        table_print(table, cli->out.width, cli->out.colour, &text);
    else
        str_printf(&text, "%s\n", nothing);
    term_write(&cli->out, &text);
    str_release(&text);
    table_release(table);
}

/* A cursor as text, a number being one too; NULL at the end. The caller frees. */
static char *cursor_of(const struct json *next)
{
    const char *text = json_text(next);

    if (json_is_null(next))
        return NULL;
    return text ? xstrdup(text) : json_dump(next);
}

/*
 * Reads a whole list page by page and gives each item to add; with --json prints the first page
 * only. path is consumed. False: the user has been told.
 */
static bool list_read(struct cli *cli, struct str *path, const char *name, uint64_t limit,
                      void (*add)(struct table *table, const struct json *item, int64_t now_ms),
                      struct table *table)
{
    int64_t now_ms = clock_wall_ms(cli->clock);
    char *first;
    char *next = NULL;
    bool more = true;
    bool ok = true;

    uri_query_u64(path, "limit", limit ? limit : LISTS_PAGE);
    first = str_detach(path);
    while (ok && more) {
        struct api_reply reply = API_REPLY_INIT;
        struct json *items;

        str_put(path, first);
        uri_query(path, "before", next);
        ok = cli_get(cli, str_cstr(path), &reply);
        str_clear(path);
        items = json_get(reply.doc, name);
        for (size_t i = 0; ok && i < json_len(items); i++)
            add(table, json_at(items, i), now_ms);
        free(next);
        next = NULL;
        next = cursor_of(json_get(reply.doc, "next"));
        more = !limit && !cli->args.json && next && json_len(items) > 0;
        api_reply_release(&reply);
    }
    free(next);
    free(first);
    str_release(path);
    return ok;
}

/* The text of a list of words, "linux, fast"; the caller frees. */
static char *words_join(const struct json *list)
{
    struct str text = STR_INIT(PRINT_MAX);

    for (size_t i = 0; i < json_len(list) && text.n < PRINT_CELL_MAX; i++) {
        const char *word = json_text(json_at(list, i));

        str_printf(&text, "%s%.200s", i ? ", " : "", word ? word : "?");
    }
    return str_detach(&text);
}

/* ---- status ---- */

static const struct table_column pool_columns[] = {
    {"POOL", false, TABLE_CUT, 0},    {"RUNNING", true, TABLE_WHOLE, 0},
    {"QUEUED", true, TABLE_WHOLE, 0}, {"SLOTS", true, TABLE_WHOLE, 0},
    {"SLAVES", true, TABLE_WHOLE, 1}, {"BACKLOG", false, TABLE_WHOLE, 2},
    {"STATE", false, TABLE_WHOLE, 0},
};

static void pool_add(struct table *table, const struct json *pool)
{
    bool paused = json_truth(json_get(pool, "paused"), false);

    table_row(table);
    table_cell(table, STYLE_BOLD, json_get_text(pool, "name"));
    table_cell_i64(table, json_get_int(pool, "running", 0));
    table_cell_i64(table, json_get_int(pool, "queued", 0));
    table_cell_i64(table, json_get_int(pool, "slots", 0));
    table_cell_i64(table, json_get_int(pool, "slaves", 0));
    table_cell(table, STYLE_PLAIN, json_get_text(pool, "backlog"));
    table_cell(table, paused ? STYLE_WARN : STYLE_PLAIN, paused ? "paused" : "-");
}

static void status_error(struct str *text, bool colour, const char *what, const char *error)
{
    char *line;
    struct str clean = STR_INIT(8 * PRINT_CELL_MAX);

    if (!error)
        return;
    print_clean(&clean, error);
    line = xasprintf("%s: %s\n", what, str_cstr(&clean));
    print_styled(text, colour, STYLE_BAD, line);
    free(line);
    str_release(&clean);
}

static void status_print(struct cli *cli, const struct json *doc, struct str *text)
{
    const char *title = json_get_text(doc, "title");
    const char *version = json_get_text(doc, "version");
    bool colour = cli->out.colour;
    struct str clean = STR_INIT(8 * PRINT_CELL_MAX);
    char up[WHEN_MAX];

    print_clean(&clean, title ? title : "Tailrace");
    print_styled(text, colour, STYLE_BOLD, str_cstr(&clean));
    str_clear(&clean);
    print_clean(&clean, json_get_text(doc, "url"));
    str_printf(text, "  %s  (tailrace %.40s, up %s)\n", str_cstr(&clean), version ? version : "?",
               when_between(time_of(doc, "started_at"), time_of(doc, "now"), up));
    str_printf(text,
               "builds: %lld running, %lld queued, %lld waiting;  slaves: %lld of %lld connected\n",
               (long long)json_get_int(doc, "builds_running", 0),
               (long long)json_get_int(doc, "builds_queued", 0),
               (long long)json_get_int(doc, "builds_waiting", 0),
               (long long)json_get_int(doc, "slaves_connected", 0),
               (long long)json_get_int(doc, "slaves_known", 0));
    status_error(text, colour, "configuration not reloaded", json_get_text(doc, "config_error"));
    status_error(text, colour, "the store cannot write", json_get_text(doc, "store_error"));
    str_release(&clean);
}

int cmd_status(struct cli *cli)
{
    struct api_reply reply = API_REPLY_INIT;
    struct str text = STR_INIT(PRINT_MAX);
    struct json *pools;
    struct table table;
    bool ok = cli_get(cli, "/status", &reply);

    if (ok && !cli->args.json) {
        status_print(cli, reply.doc, &text);
        str_putc(&text, '\n');
        term_write(&cli->out, &text);
        table_init(&table, COLUMNS(pool_columns));
        pools = json_get(reply.doc, "pools");
        for (size_t i = 0; i < json_len(pools); i++)
            pool_add(&table, json_at(pools, i));
        table_end(cli, &table, "No pools are configured.");
    }
    str_release(&text);
    api_reply_release(&reply);
    return ok ? CLI_OK : CLI_TROUBLE;
}

/* ---- builds, and builders, which show builds ---- */

/* The result of a finished build, the state of another. */
static void build_result_cell(struct table *table, const struct json *build)
{
    const char *result = json_get_text(build, "result");
    const char *word = result ? result : json_get_text(build, "state");

    table_cell(table, print_style_of(word), word);
}

/* How long it took; for a running one so far. */
static void build_took_cell(struct table *table, const struct json *build, int64_t now_ms)
{
    const char *result = json_get_text(build, "result");
    int64_t end_ms = result ? time_of(build, "finished_at") : now_ms;
    char took[WHEN_MAX];

    table_cell(table, STYLE_PLAIN, when_between(time_of(build, "started_at"), end_ms, took));
}

/* When it last did something that people ask about. */
static void build_when_cell(struct table *table, const struct json *build, int64_t now_ms)
{
    int64_t at_ms = time_of(build, "finished_at");
    char when[WHEN_MAX];

    if (at_ms < 0)
        at_ms = time_of(build, "started_at");
    if (at_ms < 0)
        at_ms = time_of(build, "queued_at");
    table_cell(table, STYLE_PLAIN, when_ago(at_ms, now_ms, when));
}

static void revision_cell(struct table *table, const struct json *build)
{
    char shortened[13];
    const char *revision = json_get_text(build, "revision");

    if (revision)
        (void)snprintf(shortened, sizeof shortened, "%s", revision);
    table_cell(table, STYLE_PLAIN, revision ? shortened : NULL);
}

static const struct table_column build_columns[] = {
    {"BUILD", true, TABLE_WHOLE, 0},   {"BUILDER", false, TABLE_CUT, 0},
    {"BRANCH", false, TABLE_CUT, 0},   {"REVISION", false, TABLE_WHOLE, 3},
    {"RESULT", false, TABLE_WHOLE, 0}, {"SLAVE", false, TABLE_CUT, 4},
    {"WHEN", false, TABLE_WHOLE, 1},   {"TOOK", true, TABLE_WHOLE, 2},
};

static void build_add(struct table *table, const struct json *build, int64_t now_ms)
{
    table_row(table);
    table_cell_i64(table, json_get_int(build, "id", 0));
    table_cell(table, STYLE_PLAIN, json_get_text(build, "builder"));
    table_cell(table, STYLE_PLAIN, json_get_text(build, "branch"));
    revision_cell(table, build);
    build_result_cell(table, build);
    table_cell(table, STYLE_PLAIN, json_get_text(build, "slave"));
    build_when_cell(table, build, now_ms);
    build_took_cell(table, build, now_ms);
}

/* What to say when no build was found; an unknown builder is the user's mistake. */
static int builds_none(struct cli *cli, struct table *table)
{
    const struct args *args = &cli->args;
    bool all = !args->builder && !args->branch && !args->state && !args->result;
    struct err err = ERR_INIT;
    int code = CLI_OK;

    if (args->builder && roster_find(&cli->api, args->builder, &err))
        code = cli_trouble(&err);
    else if (!args->json)
        table_end(cli, table,
                  all ? "No builds yet. Ask for one: tailrace force BUILDER" : "No such builds.");
    return code;
}

int cmd_builds(struct cli *cli)
{
    const struct args *args = &cli->args;
    struct str path = STR_INIT(URI_MAX);
    struct table table;
    int code = CLI_TROUBLE;

    table_init(&table, COLUMNS(build_columns));
    str_put(&path, "/builds");
    uri_query(&path, "builder", args->builder);
    uri_query(&path, "branch", args->branch);
    uri_query(&path, "state", args->state);
    uri_query(&path, "result", args->result);
    if (list_read(cli, &path, "builds", args->limit ? args->limit : LISTS_BUILDS, build_add,
                  &table)) {
        code = CLI_OK;
        if (table.cells.n == 0)
            code = builds_none(cli, &table);
        else if (!args->json)
            table_end(cli, &table, "");
    }
    table_release(&table);
    return code;
}

static const struct table_column builder_columns[] = {
    {"BUILDER", false, TABLE_WHOLE, 0}, {"POOL", false, TABLE_CUT, 3},
    {"BRANCH", false, TABLE_CUT, 0},    {"BUILD", true, TABLE_WHOLE, 0},
    {"RESULT", false, TABLE_WHOLE, 0},  {"WHEN", false, TABLE_WHOLE, 1},
    {"TOOK", true, TABLE_WHOLE, 2},
};

static void builder_add(struct table *table, const struct json *builder, int64_t now_ms)
{
    const struct json *last = json_get(builder, "last");
    size_t n = json_len(last);

    for (size_t i = 0; i < (n ? n : 1); i++) {
        const struct json *build = n ? json_at(last, i) : NULL;

        table_row(table);
        table_cell(table, STYLE_PLAIN, json_get_text(builder, "name"));
        table_cell(table, STYLE_PLAIN, json_get_text(builder, "pool"));
        table_cell(table, STYLE_PLAIN, build ? json_get_text(build, "branch") : NULL);
        if (!build)
            continue; /* never built */
        table_cell_i64(table, json_get_int(build, "id", 0));
        build_result_cell(table, build);
        build_when_cell(table, build, now_ms);
        build_took_cell(table, build, now_ms);
    }
}

int cmd_builders(struct cli *cli)
{
    struct str path = STR_INIT(URI_MAX);
    struct table table;
    bool ok;

    table_init(&table, COLUMNS(builder_columns));
    str_put(&path, "/builders");
    ok = list_read(cli, &path, "builders", 0, builder_add, &table);
    if (ok && !cli->args.json)
        table_end(cli, &table, "No builders are configured.");
    else
        table_release(&table);
    return ok ? CLI_OK : CLI_TROUBLE;
}

/* ---- slaves ---- */

static const struct table_column slave_columns[] = {
    {"SLAVE", false, TABLE_WHOLE, 0},   {"STATE", false, TABLE_WHOLE, 0},
    {"RUNNING", true, TABLE_WHOLE, 1},  {"POOLS", false, TABLE_WRAP, 2},
    {"LABELS", false, TABLE_WRAP, 3},   {"PLATFORM", false, TABLE_WRAP, 4},
    {"VERSION", false, TABLE_WHOLE, 5}, {"CONTACT", false, TABLE_WHOLE, 0},
    {"REASON", false, TABLE_WRAP, 0},
};

static void slave_add(struct table *table, const struct json *slave, int64_t now_ms)
{
    const char *state = json_get_text(slave, "state");
    char *pools = words_join(json_get(slave, "pools"));
    char *labels = words_join(json_get(slave, "labels"));
    char *running = xasprintf("%lld/%lld", (long long)json_get_int(slave, "running", 0),
                              (long long)json_get_int(slave, "slots", 0));
    char contact[WHEN_MAX];

    table_row(table);
    table_cell(table, STYLE_PLAIN, json_get_text(slave, "name"));
    table_cell(table, print_style_of(state), state);
    table_cell(table, STYLE_PLAIN, running);
    table_cell(table, STYLE_PLAIN, pools);
    table_cell(table, STYLE_PLAIN, labels);
    table_cell(table, STYLE_PLAIN, json_get_text(slave, "platform"));
    table_cell(table, STYLE_PLAIN, json_get_text(slave, "version"));
    table_cell(table, STYLE_PLAIN,
               when_contact(time_of(slave, "connected_at"), time_of(slave, "last_seen_at"), now_ms,
                            contact));
    table_cell(table, STYLE_PLAIN, json_get_text(slave, "reason"));
    free(running);
    free(labels);
    free(pools);
}

int cmd_slaves(struct cli *cli)
{
    struct str path = STR_INIT(URI_MAX);
    struct table table;
    bool ok;

    table_init(&table, COLUMNS(slave_columns));
    str_put(&path, "/slaves");
    ok = list_read(cli, &path, "slaves", 0, slave_add, &table);
    if (ok && !cli->args.json)
        table_end(cli, &table, "No slaves are configured.");
    else
        table_release(&table);
    return ok ? CLI_OK : CLI_TROUBLE;
}

/* ---- queue ---- */

static const struct table_column queue_columns[] = {
    {"POS", true, TABLE_WHOLE, 0},     {"BUILD", true, TABLE_WHOLE, 0},
    {"BUILDER", false, TABLE_CUT, 0},  {"BRANCH", false, TABLE_CUT, 1},
    {"POOL", false, TABLE_CUT, 4},     {"PRIORITY", false, TABLE_WHOLE, 3},
    {"STARTS", false, TABLE_WHOLE, 2}, {"WAITS FOR", false, TABLE_WRAP, 0},
};

static void queue_add(struct table *table, const struct json *entry, int64_t now_ms)
{
    char starts[WHEN_MAX];

    table_row(table);
    table_cell_i64(table, json_get_int(entry, "position", 0));
    table_cell_i64(table, json_get_int(entry, "build", 0));
    table_cell(table, STYLE_PLAIN, json_get_text(entry, "builder"));
    table_cell(table, STYLE_PLAIN, json_get_text(entry, "branch"));
    table_cell(table, STYLE_PLAIN, json_get_text(entry, "pool"));
    table_cell(table, STYLE_PLAIN, json_get_text(entry, "priority"));
    table_cell(table, STYLE_PLAIN, when_ago(time_of(entry, "starts_at"), now_ms, starts));
    table_cell(table, STYLE_PLAIN, json_get_text(entry, "waits_for"));
}

int cmd_queue(struct cli *cli)
{
    struct str path = STR_INIT(URI_MAX);
    struct table table;
    bool ok;

    if (cli->args.words.n)
        return cmd_pool_switch(cli);
    table_init(&table, COLUMNS(queue_columns));
    str_put(&path, "/queue");
    ok = list_read(cli, &path, "queue", 0, queue_add, &table);
    if (ok && !cli->args.json)
        table_end(cli, &table, "The queue is empty.");
    else
        table_release(&table);
    return ok ? CLI_OK : CLI_TROUBLE;
}
