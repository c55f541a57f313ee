/*
 * logs_view: what the files of logs share about an open view.
 */
#ifndef TAILRACE_MASTER_LOGS_VIEW_H
#define TAILRACE_MASTER_LOGS_VIEW_H

#include <zlib.h>

#include "master/logs.h"
#include "master/logs_index.h"

struct log_view {
    struct log_index *index; /* referenced */
    size_t n;                /* blocks of it that this view has */
    uint64_t bytes, lines;   /* what the database says */
    struct err broken;       /* why reading ends before that; ERR_OK: it does not */
    z_stream inflate;
    bool inflating;  /* inflate was set up */
    char *data;      /* LOGS_DATA_MAX; NULL until first needed */
    char *block;     /* LOGS_BLOCK_MAX + 1 inflated bytes; NULL until first needed */
    size_t block_at; /* which block that is; n or more: none */
};

/* Where the view's last good block ends. */
static inline const struct log_spot *log_view_end(const struct log_view *view)
{
    return &view->index->spots[view->n];
}

/* Inflates a block (below n) into view->block and checks it. */
enum err_code log_view_load(struct log_view *view, size_t block,
                            struct err *err) TAILRACE_MUST_CHECK;
/* Reads n bytes of the file. ERR_IO when it ends before. */
enum err_code log_view_pread(const struct log_view *view, void *out, size_t n, uint64_t at,
                             struct err *err) TAILRACE_MUST_CHECK;
/* Hands on why the view is broken. */
enum err_code log_view_fail(const struct log_view *view, struct err *err);

#endif
