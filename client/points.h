/*
 * points: the benchmark points of one build, told in a line for each metric: the median of its
 * iterations and how far they lie apart. Pure.
 */
#ifndef TAILRACE_CLIENT_POINTS_H
#define TAILRACE_CLIENT_POINTS_H

#include "common/base/json_in.h"
#include "common/base/str.h"
#include "common/base/vec.h"

/* One metric of one test in one step. */
struct points_metric {
    int64_t step;
    char *name; /* "bench wall", "bench suite test p99"; cleaned */
    char *unit; /* cleaned; "" when it has none */
    VEC(double) values;
};

struct points {
    VEC(struct points_metric) metrics; /* in the order in which they were first seen */
};

enum { POINTS_TEXT_MAX = 256 };

void points_init(struct points *points);
void points_release(struct points *points);

/* Adds a page of GET /builds/ID/points; build is GET /builds/ID, for the names of its steps. */
void points_add(struct points *points, const struct json *page, const struct json *build);

/* "0.129 s (3 runs, 0.127 to 0.131)"; sorts the values. Writes into out, returns out. */
const char *points_describe(struct points_metric *metric, char out[POINTS_TEXT_MAX]);

#endif
