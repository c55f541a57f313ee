/*
 * segment: one file of a journal. It begins with a head, a record numbered 0 that says whose
 * journal this is and what state all earlier records added up to, so that earlier segments may go
 * and the state is still known. The records follow. Nothing is written that is not a whole record:
 * a write that fails half way is cut back.
 */
#ifndef TAILRACE_SLAVE_SEGMENT_H
#define TAILRACE_SLAVE_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "proto/journal.h"

enum { SEGMENT_TAG_MAX = 65, SEGMENT_NAME_MAX = 24, SEGMENT_HEAD_MAX = 16 * 1024 };

struct segment_head {
    uint64_t build;
    uint32_t attempt;
    int64_t asked_ms;          /* START's; 0 in files of version 1 */
    char tag[SEGMENT_TAG_MAX]; /* spool_set_tag() */
    struct fold fold;          /* before the segment's first record; owned */
};

/* "00000000000000000001": the segment's name in its journal's folder. */
const char *segment_name(uint64_t first, char out[SEGMENT_NAME_MAX]);
/* The number in a segment's name; 0 when it is none. */
uint64_t segment_number(const char *name);

/* Makes the file PATH (which must not exist) with its head; *fd is open for appending and the
 * caller's, *bytes is its size. On failure nothing is left of it. */
enum err_code segment_create(const char *path, const struct segment_head *head, int *fd,
                             uint64_t *bytes, struct err *err) TAILRACE_MUST_CHECK;
/* Appends to a file of `bytes` bytes; on failure the file has that size again. */
enum err_code segment_append(int fd, uint64_t bytes, struct view what,
                             struct err *err) TAILRACE_MUST_CHECK;
/* Cuts the file to that size. */
enum err_code segment_cut(int fd, uint64_t bytes, struct err *err) TAILRACE_MUST_CHECK;

/* Reads a segment from its begin on, in large pieces. Zeroed and fd = -1 when not open. */
struct segment_reader {
    int fd;
    uint64_t offset;   /* behind the last record taken */
    struct str buffer; /* read, not yet taken */
    size_t taken;
};

#define SEGMENT_READER_INIT                                                                        \
    {                                                                                              \
        -1, 0, STR_INIT(0), 0                                                                      \
    }

/* Opens PATH and reads its head into *head, whose fold the caller releases. ERR_AGAIN when the head
 * is not whole, ERR_PROTO when it is none. */
enum err_code segment_reader_open(struct segment_reader *reader, const char *path,
                                  struct segment_head *head, struct err *err) TAILRACE_MUST_CHECK;
/* The next record, good until the next call. ERR_AGAIN at the end of the file, also in the middle
 * of a record; ERR_PROTO when it is damaged. */
enum err_code segment_reader_next(struct segment_reader *reader, struct journal_entry *entry,
                                  struct err *err) TAILRACE_MUST_CHECK;
void segment_reader_close(struct segment_reader *reader); /* any number of times */

#endif
