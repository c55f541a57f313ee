/*
 * progress: what is known of a build while it is watched, folded from the API's answers and events,
 * and how it is told: a line for each change, one line that is drawn over and over, and the
 * verdict. Pure.
 */
#ifndef TAILRACE_CLIENT_PROGRESS_H
#define TAILRACE_CLIENT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/json_in.h"
#include "common/base/str.h"
#include "common/base/vec.h"

struct progress_step {
    int64_t number;
    char *name;
    char *result; /* NULL until finished */
    char *reason; /* why it ended so, or NULL */
    bool running;
    int64_t exit_code; /* -1: none */
    int64_t started_ms, finished_ms;
    bool told_start, told_end;
};

struct progress {
    uint64_t id;
    bool known; /* the build has been seen */
    char *builder, *branch, *state, *result, *slave, *url;
    char *note;  /* why it ended so, or NULL */
    char *waits; /* the sentence why it has not started, or NULL */
    int64_t attempt;
    double expected_s; /* negative: unknown */
    int64_t queued_ms, started_ms, finished_ms;
    VEC(struct progress_step) steps; /* of the newest attempt, by number */
};

enum { PROGRESS_LINES_MAX = 16 * 1024 * 1024 };

void progress_init(struct progress *p, uint64_t id);
void progress_release(struct progress *p);

/* A build as GET /builds/ID or a list or an event gives it (steps may be null). Appends a line to
 * *lines for each change, but none for what was over when the build was first seen. Of a finished
 * build nothing changes any more. */
void progress_build(struct progress *p, const struct json *build, struct str *lines);
/* A step of an attempt; what is older than what is known is ignored. */
void progress_step(struct progress *p, int64_t attempt, const struct json *json, struct str *lines);
/* Why it waits, a queue entry's sentence; NULL: not known. Told once in each time of waiting. */
void progress_waits(struct progress *p, const char *sentence, struct str *lines);

bool progress_finished(const struct progress *p);
bool progress_is(const struct progress *p, const char *state);
/* Finished with success or warnings. */
bool progress_passed(const struct progress *p);

/* Appends the line that is drawn over, at most width columns, without an end of line. */
void progress_line(const struct progress *p, int64_t now_ms, unsigned width, struct str *out);
/* Appends the verdict: how it ended and why, and for each step that failed its reason and where to
 * look. */
void progress_verdict(const struct progress *p, bool colour, struct str *out);

#endif
