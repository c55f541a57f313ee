/*
 * What spool.c (the folder: opening, listing, room) and journal_file.c (one attempt's records)
 * share.
 */
#ifndef TAILRACE_SLAVE_SPOOL_PRIVATE_H
#define TAILRACE_SLAVE_SPOOL_PRIVATE_H

#include "common/base/vec.h"
#include "slave/segment.h"
#include "slave/spool.h"

/* A record not yet sent, in memory as it lies in the file. In two lists: its journal's, by number,
 * and the spool's, by age. The oldest of the spool goes first when memory is short, and is then its
 * journal's first. */
struct recent {
    struct recent *prev, *next;
    struct recent *older, *newer;
    struct journal *journal;
    uint64_t number;
    char *bytes;
    size_t n, held_bytes;
};

struct spool {
    char *dir; /* DIR/journal */
    uint64_t limit_bytes, bytes, segment_bytes;
    const struct spool_ops *ops;
    void *owner;
    char tag[SEGMENT_TAG_MAX];
    struct journal *journals;
    struct recent *recents; /* of all journals, oldest first */
    size_t recent_bytes;
    bool refused;     /* spool_has_room() said no, or the disk did, since on_room */
    bool disk_full;   /* the disk refused the last record that it was given */
    bool has_reserve; /* the file that is given up for small records when the disk is full */
};

struct segment {
    uint64_t first; /* number of its first record */
    uint64_t bytes;
};

struct journal {
    struct journal *prev, *next;
    struct spool *spool;
    char *path;
    struct segment_head head;     /* head.fold is the state after the newest record */
    VEC(struct segment) segments; /* oldest first; never empty */
    int fd;                       /* the newest segment's */
    uint64_t acked;
    uint64_t next_send;
    bool retired;
    struct recent *recents; /* without a gap up to the newest; the first may be behind next_send */
    struct segment_reader reader;
    size_t reader_segment;      /* index of the segment being read */
    struct journal_entry entry; /* what the reader gave last; number 0: nothing */
};

/* Makes an empty journal in memory and puts it into the spool's list. */
struct journal *journal_new(struct spool *spool, const char *path);
/* Takes it from the list and frees it; files stay. */
void journal_free(struct journal *journal);
/* Reads what an earlier run left in the journal's folder. ERR_NOTFOUND when no segment has a whole
 * head: nothing was ever recorded. */
enum err_code journal_load(struct journal *journal, struct err *err) TAILRACE_MUST_CHECK;
char *journal_segment_path(const struct journal *journal, uint64_t first);
/* Makes the reserve, when it is not there. Without room for it the spool does without. */
void spool_make_reserve(struct spool *spool);
/* Gives it up; false when there was none. */
bool spool_use_reserve(struct spool *spool);
/* Tells the owner once when there is room again. */
void spool_check_room(struct spool *spool);

#endif
