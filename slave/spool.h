/*
 * spool: where the slave keeps the journals of its attempts until the master has them on disk. One
 * folder for each attempt, DIR/journal/BUILD-ATTEMPT/, holding segment files of records (segment.h)
 * named by their first number; a segment goes away once all of it is acknowledged. The newest
 * records not yet sent also stay in memory (SPOOL_MEMORY_BYTES in all), so that a master that keeps
 * up costs no reading.
 *
 * A record is written with write(2) before it may be sent; kill -9 of the agent loses nothing.
 * Files are bounded in sum by the spool's limit: over it, spool_has_room() says no and output is
 * held back at the child's pipe, never dropped.
 */
#ifndef TAILRACE_SLAVE_SPOOL_H
#define TAILRACE_SLAVE_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "proto/journal.h"
#include "proto/msg.h"

enum {
    SPOOL_MEMORY_BYTES = 2 << 20,
    SPOOL_SEGMENT_BYTES = 8 << 20, /* a sixteenth of the limit when that is less */
    SPOOL_LIMIT_LEAST_BYTES = 1 << 20,
    SPOOL_RESERVE_BYTES = 64 << 10,
};

struct spool;
struct journal; /* one attempt's */

struct spool_ops {
    /* A journal got a record to send; or the spool got room again after spool_has_room() had said
     * no. Called from inside the calls that append, acknowledge or drop, so neither may append or
     * drop from inside. */
    void (*on_record)(void *owner, struct journal *journal);
    void (*on_room)(void *owner);
};

/* Opens DIR/journal (made when missing) and reads what an earlier run left: those journals are then
 * listed by spool_first(). A record cut off at the end of a file is cut away; a journal that cannot
 * be read is moved aside to DIR/journal/bad-* and logged. */
enum err_code spool_open(const char *dir, uint64_t limit_bytes, const struct spool_ops *ops,
                         void *owner, struct spool **out, struct err *err) TAILRACE_MUST_CHECK;
void spool_close(struct spool *spool); /* NULL allowed; files stay */
/* Kept with each journal created from here on, at most 64 bytes; "" before it is called. */
void spool_set_tag(struct spool *spool, const char *tag);
bool spool_has_room(struct spool *spool);
/* What the files take. */
uint64_t spool_bytes(const struct spool *spool);

/* Whose journal it is, as START says. Kept beside the records; after a restart the fold is computed
 * with n_steps. */
struct journal_of {
    uint64_t build;
    uint32_t attempt, n_steps;
    int64_t asked_ms;
};

/* A new, empty journal. ERR_EXISTS when there is one for that attempt. */
enum err_code journal_create(struct spool *spool, const struct journal_of *of, struct journal **out,
                             struct err *err) TAILRACE_MUST_CHECK;
/* Removes the journal's files and frees it. */
void journal_drop(struct journal *journal);
/* All journals; their order changes when records are sent. */
struct journal *spool_first(struct spool *spool);
struct journal *journal_next_of(struct journal *journal);
struct journal *spool_find(struct spool *spool, uint64_t build, uint32_t attempt);

uint64_t journal_build(const struct journal *journal);
uint32_t journal_attempt(const struct journal *journal);
int64_t journal_asked_ms(const struct journal *journal);    /* START's; 0: unknown */
struct spool *journal_spool(const struct journal *journal); /* the one it is in */
/* What spool_set_tag() had said when it was created. Borrowed. */
const char *journal_tag(const struct journal *journal);
/* The newest number; 0 when empty. */
uint64_t journal_last(const struct journal *journal);
/* The state that all records add up to. Borrowed. */
const struct fold *journal_fold(const struct journal *journal);
/* Whether the last record is ATTEMPT_FINISHED, and whether the master has acknowledged it. */
bool journal_is_complete(const struct journal *journal);
bool journal_is_done(const struct journal *journal);

/* Encodes, writes and counts a record. ERR_NOSPACE or ERR_IO when the disk does not take it: the
 * journal is unchanged, the caller holds its source back and tries again (on_room tells when
 * acknowledged records have made room). ERR_PROTO when it cannot
 * follow the journal's state, ERR_LIMIT when it is too large: our bug, nothing changed either. Room
 * must be asked for first with spool_has_room() for LOG_BLOCK; other records are small and always
 * accepted. */
enum err_code journal_append(struct journal *journal, const struct msg *record,
                             struct err *err) TAILRACE_MUST_CHECK;

/* The master has all up to number on disk: older segments go. A number that was not sent yet counts
 * as the last sent. */
void journal_ack(struct journal *journal, uint64_t number);
/* Where sending stands: after a (re)connect it is set to what the master has, which also
 * acknowledges that. False, and nothing changed, when the journal cannot go on from there: the
 * master lacks records that it had acknowledged, or has some that this disk lost. */
bool journal_rewind(struct journal *journal, uint64_t stored);
/* Nothing of it is sent any more, though records may still come; it only waits to be dropped. */
void journal_retire(struct journal *journal);
bool journal_is_retired(const struct journal *journal);
/* The journal whose turn it is to send, or NULL when nothing is left to send: they take turns
 * record by record. */
struct journal *spool_sendable(struct spool *spool);
/* The next record to send, from memory or file; good until the next call on this journal. ERR_AGAIN
 * when there is none; any other error means that the files are damaged. */
enum err_code journal_peek(struct journal *journal, struct journal_entry *entry,
                           struct err *err) TAILRACE_MUST_CHECK;
/* The record of journal_peek() is on its way; the next one is next. */
void journal_sent(struct journal *journal);

#endif
