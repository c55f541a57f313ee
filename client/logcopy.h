/*
 * logcopy: copies the bytes of one step's log to a descriptor as they come, and goes on from the
 * byte it has when the connection breaks.
 */
#ifndef TAILRACE_CLIENT_LOGCOPY_H
#define TAILRACE_CLIENT_LOGCOPY_H

#include <stdbool.h>
#include <stdint.h>

#include "client/api.h"
#include "client/patience.h"

/* What is read from a build while its logs are copied; embedded, nothing to release. */
struct logcopy {
    struct api *api;
    int fd;
    uint64_t build;
    int64_t attempt;
    bool follow;
    bool stderr_log; /* the log of standard error, which a step may keep apart */
    struct patience patience;
    bool reader_gone; /* nobody reads the descriptor any more: time to end */
};

/* How a step's answer calls the log that is wanted: "log" or "stderr". */
const char *logcopy_key(const struct logcopy *copy);

/* GET with patience. Errors as api_get. */
enum err_code logcopy_get(struct logcopy *copy, const char *path, struct api_reply *reply,
                          struct err *err) TAILRACE_MUST_CHECK;

/*
 * Copies the log of step `number` of copy->attempt: what there is, and with follow what comes until
 * the step has ended. ERR_OK also when it has no log, and when reader_gone has become true.
 * ERR_NOTFOUND: no such step. ERR_IO may also mean that the descriptor cannot be written.
 */
enum err_code logcopy_step(struct logcopy *copy, int64_t number,
                           struct err *err) TAILRACE_MUST_CHECK;

#endif
