#include "common/base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/json_out.h"
#include "common/base/text.h"

enum { RECORD_MAX = 8 << 20 }; /* far above what fields cut at LOG_TEXT_MAX can make */

struct level_name {
    const char *text;
    const char *json;
    char priority; /* of syslog and the journal */
};

static const struct level_name levels[] = {
    [LOG_LEVEL_DEBUG] = {"DEBUG", "debug", '7'},
    [LOG_LEVEL_INFO] = {"INFO", "info", '6'},
    [LOG_LEVEL_WARN] = {"WARN", "warn", '4'},
    [LOG_LEVEL_ERROR] = {"ERROR", "error", '3'},
};

/* Set before threads start, but for the level, which a reload may change. */
static struct {
    atomic_int least;
    enum log_format format;
    bool journal;
    log_sink sink;
    void *sink_arg;
} logger = {.least = LOG_LEVEL_INFO, .format = LOG_FORMAT_TEXT};

/* Whether the standard error that the journal was given is still ours: a redirection in between,
 * or a child started with the variable inherited, must not print priorities. */
static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char ours[64];
    struct stat st;

    if (!stream || fstat(STDERR_FILENO, &st) != 0)
        return false;
    (void)snprintf(ours, sizeof ours, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return strcmp(stream, ours) == 0;
}

enum err_code log_setup(const char *format_name, enum log_level least, struct err *err)
{
    if (strcmp(format_name, "text") == 0)
        logger.format = LOG_FORMAT_TEXT;
    else if (strcmp(format_name, "json") == 0)
        logger.format = LOG_FORMAT_JSON;
    else
        return err_set(err, ERR_CONFIG, "unknown log format '%.40s': expected text or json",
                       format_name);
    logger.journal = stderr_is_journal();
    log_set_level(least);
    return ERR_OK;
}

void log_set_sink(log_sink sink, void *arg)
{
    logger.sink = sink;
    logger.sink_arg = arg;
}

void log_set_level(enum log_level least)
{
    atomic_store(&logger.least, (int)least);
}

/* The front of text that is shown, not cut inside a character. */
static struct view shown_of(struct view text)
{
    size_t n = text.n;

    if (n <= LOG_TEXT_MAX)
        return text;
    n = LOG_TEXT_MAX;
    while (n > LOG_TEXT_MAX - 3 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    return view_bytes(text.p, n);
}

static bool needs_quotes(struct view text)
{
    if (text.n == 0)
        return true;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
            return true;
    }
    return false;
}

static void put_text(struct str *line, struct view whole)
{
    struct view text = shown_of(whole);
    size_t plain = 0;

    if (!needs_quotes(text)) {
        str_put_view(line, text);
        str_put(line, text.n < whole.n ? "..." : "");
        return;
    }
    str_putc(line, '"');
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && text.p[i] != '"' && text.p[i] != '\\')
            continue;
        if (i > plain)
            text_escape(line, view_bytes(text.p + plain, i - plain), i - plain);
        if (i < text.n) {
            str_putc(line, '\\');
            str_putc(line, text.p[i]);
        }
        plain = i + 1;
    }
    str_put(line, text.n < whole.n ? "...\"" : "\"");
}

static void put_field(struct str *line, const struct log_field *field)
{
    uint64_t size = field->number < 0 ? 0 - (uint64_t)field->number : (uint64_t)field->number;

    str_printf(line, " %s=", field->name);
    switch (field->kind) {
    case LOG_KIND_ID:
    case LOG_KIND_INT:
        str_printf(line, "%" PRId64, field->number);
        break;
    case LOG_KIND_MS:
        str_printf(line, "%s%" PRIu64 ".%03ds", field->number < 0 ? "-" : "", size / 1000,
                   (int)(size % 1000));
        break;
    case LOG_KIND_BYTES:
        str_printf(line, "%" PRId64 "B", field->number);
        break;
    case LOG_KIND_STR:
        put_text(line, field->text);
        break;
    }
}

static void put_record_text(struct str *line, enum log_level level, const char *event,
                            const struct log_field *fields, size_t n)
{
    char now[CLOCK_TEXT_MAX];

    if (logger.journal)
        str_printf(line, "<%c>", levels[level].priority);
    else
        str_printf(line, "%s ", clock_rfc3339(clock_wall_ms(clock_system()), now));
    str_printf(line, "%s %s", levels[level].text, event);
    for (size_t i = 0; i < n; i++) {
        if (fields[i].name)
            put_field(line, &fields[i]);
    }
}

/* "took" in milliseconds is "took_ms"; a name that says its unit already is left alone. */
static void put_key(struct json_out *j, const char *name, const char *unit)
{
    size_t n = strlen(name);
    size_t unit_n = strlen(unit);
    char key[128];

    if (n >= unit_n && strcmp(name + n - unit_n, unit) == 0) {
        json_key(j, name);
        return;
    }
    (void)snprintf(key, sizeof key, "%s_%s", name, unit);
    json_key(j, key);
}

static void put_field_json(struct json_out *j, const struct log_field *field)
{
    if (field->kind == LOG_KIND_STR) {
        json_key(j, field->name);
        json_view(j, shown_of(field->text));
        return;
    }
    if (field->kind == LOG_KIND_MS)
        put_key(j, field->name, "ms");
    else if (field->kind == LOG_KIND_BYTES)
        put_key(j, field->name, "bytes");
    else
        json_key(j, field->name);
    json_i64(j, field->number);
}

static void put_record_json(struct str *line, enum log_level level, const char *event,
                            const struct log_field *fields, size_t n)
{
    struct json_out j;

    json_out_init(&j, line);
    json_object(&j);
    json_kv_time(&j, "time", clock_wall_ms(clock_system()));
    json_kv_str(&j, "level", levels[level].json);
    json_kv_str(&j, "event", event);
    for (size_t i = 0; i < n; i++) {
        if (fields[i].name)
            put_field_json(&j, &fields[i]);
    }
    json_end(&j);
}

static void write_stderr(struct str *line)
{
    ssize_t n;

    str_putc(line, '\n');
    do
        n = write(STDERR_FILENO, line->p, line->n);
    while (n < 0 && errno == EINTR);
    /* A log that nobody can take has nowhere to complain. */
}

void log_write(enum log_level level, const char *event, const struct log_field *fields, size_t n)
{
    struct str line = STR_INIT(RECORD_MAX);
    int saved_errno = errno;

    if ((int)level < atomic_load(&logger.least))
        return;
    if (logger.format == LOG_FORMAT_JSON)
        put_record_json(&line, level, event, fields, n);
    else
        put_record_text(&line, level, event, fields, n);
    if (logger.sink)
        logger.sink(logger.sink_arg, level, str_view(&line));
    else
        write_stderr(&line);
    str_release(&line);
    errno = saved_errno;
}
