/*
 * Service logs: one record a line, a stable event name and typed fields.
 *
 *     log_info("build.finished", LOG_ID("build", b->id), LOG_INT("exit", rc), LOG_MS("took", ms));
 *
 * text:  2026-01-30T11:34:00.123Z INFO build.finished build=12 exit=0 took=1.204s
 * json:  {"time":"...","level":"info","event":"build.finished","build":12,"exit":0,"took_ms":1204}
 *
 * When standard error is the journal (JOURNAL_STREAM names it), the text form begins with a
 * priority, "<6>", instead of the time. Strings are escaped (control characters, invalid UTF-8,
 * quotes) and cut at LOG_TEXT_MAX, so that what a peer sent cannot forge or flood a line. Safe from
 * any thread: a record is one write(2). Secrets never go in.
 */
#ifndef TAILRACE_COMMON_BASE_LOG_H
#define TAILRACE_COMMON_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

enum { LOG_TEXT_MAX = 4096 }; /* bytes of one string that are shown */

enum log_kind { LOG_KIND_ID, LOG_KIND_INT, LOG_KIND_MS, LOG_KIND_BYTES, LOG_KIND_STR };

struct log_field {
    const char *name;
    enum log_kind kind;
    int64_t number;
    struct view text;
};

#define LOG_ID(name, value)  ((struct log_field){(name), LOG_KIND_ID, (int64_t)(value), VIEW_NULL})
#define LOG_INT(name, value) ((struct log_field){(name), LOG_KIND_INT, (int64_t)(value), VIEW_NULL})
#define LOG_MS(name, value)  ((struct log_field){(name), LOG_KIND_MS, (int64_t)(value), VIEW_NULL})
#define LOG_BYTES(name, value)                                                                     \
    ((struct log_field){(name), LOG_KIND_BYTES, (int64_t)(value), VIEW_NULL})
#define LOG_STR(name, cstr)  ((struct log_field){(name), LOG_KIND_STR, 0, view_of(cstr)})
#define LOG_VIEW(name, view) ((struct log_field){(name), LOG_KIND_STR, 0, (view)})
#define LOG_ERR(err)         ((struct log_field){"error", LOG_KIND_STR, 0, view_of((err)->msg)})

/* Where records go, each without a line end; NULL puts back the default (standard error). For
 * tests. */
typedef void (*log_sink)(void *arg, enum log_level level, struct view line);

/* Called once at start, before any thread. format_name: "text" or "json". */
enum err_code log_setup(const char *format_name, enum log_level least,
                        struct err *err) TAILRACE_MUST_CHECK;
void log_set_sink(log_sink sink, void *arg);
void log_set_level(enum log_level least);

void log_write(enum log_level level, const char *event, const struct log_field *fields, size_t n);

/* The trailing empty field lets an event have no fields at all; n does not count it. */
#define LOG_AT(level, event, ...)                                                                  \
    log_write(level, event, (const struct log_field[]){__VA_ARGS__},                               \
              sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))
#define log_debug(...) LOG_EXPAND(LOG_LEVEL_DEBUG, __VA_ARGS__, LOG_NOTHING)
#define log_info(...)  LOG_EXPAND(LOG_LEVEL_INFO, __VA_ARGS__, LOG_NOTHING)
#define log_warn(...)  LOG_EXPAND(LOG_LEVEL_WARN, __VA_ARGS__, LOG_NOTHING)
#define log_error(...) LOG_EXPAND(LOG_LEVEL_ERROR, __VA_ARGS__, LOG_NOTHING)
/* A field without a name is not printed. */
#define LOG_NOTHING                   ((struct log_field){NULL, LOG_KIND_INT, 0, VIEW_NULL})
#define LOG_EXPAND(level, event, ...) LOG_AT(level, event, __VA_ARGS__)

#endif
