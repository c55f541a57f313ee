/*
 * newest: for each builder its newest build on each branch, and how long its builds usually take.
 * Read from the database once, when first asked for, and kept up to date by events from then on.
 * Web thread.
 */
#ifndef TAILRACE_MASTER_HTTP_NEWEST_H
#define TAILRACE_MASTER_HTTP_NEWEST_H

#include "common/base/clock.h"
#include "master/model.h"
#include "master/store/reader.h"

struct newest;

enum { NEWEST_BRANCHES = 200 }; /* remembered of one builder: those with the newest builds */

/* Both are borrowed. */
struct newest *newest_new(struct reader *reader, const struct clock *clock);
void newest_free(struct newest *newest); /* NULL allowed */

/* A build is new or has changed. */
void newest_apply(struct newest *newest, const struct build_info *build);
/* In seconds; negative while no build of it has succeeded, or when the database does not answer. */
double newest_expected(struct newest *newest, const char *builder);
/* The newest first. */
void newest_each(struct newest *newest, const char *builder, reader_build_fn fn, void *arg);
/* Reads what a page would ask for, so that it will not have to wait for it. */
void newest_warm(struct newest *newest, const char *builder);

#endif
