/*
 * steplog: what the database says of one step's log, now. Web thread.
 */
#ifndef TAILRACE_MASTER_HTTP_STEPLOG_H
#define TAILRACE_MASTER_HTTP_STEPLOG_H

#include <stdbool.h>

#include "master/logs.h"
#include "master/store/reader.h"

struct steplog {
    struct log_name name;
    struct log_info info;
    bool complete; /* nothing will be added: the step, or its attempt, has ended */
};

/* name->attempt 0 means the newest, and becomes its number. ERR_NOTFOUND with a sentence when there
 * is no such build, attempt or step (yet). */
enum err_code steplog_read(struct reader *reader, const struct log_name *name, struct steplog *out,
                           struct err *err) TAILRACE_MUST_CHECK;
/* *out is NULL for a log without bytes. */
enum err_code steplog_open(struct log_reader *logs, const struct steplog *log,
                           struct log_view **out, struct err *err) TAILRACE_MUST_CHECK;

#endif
