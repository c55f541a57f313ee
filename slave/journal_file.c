/* One journal: its records in memory and in files. See spool.h. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "proto/codec.h"
#include "slave/spool_private.h"

struct journal *journal_new(struct spool *spool, const char *path)
{
    struct journal *journal = xcalloc(1, sizeof *journal);

    journal->spool = spool;
    journal->path = xstrdup(path);
    journal->fd = -1;
    journal->reader.fd = -1;
    journal->next_send = 1;
    DL_APPEND(spool->journals, journal);
    return journal;
}

static void recent_drop(struct recent *recent)
{
    struct journal *journal = recent->journal;
    struct spool *spool = journal->spool;

    DL_DELETE(journal->recents, recent);
    DL_DELETE2(spool->recents, recent, older, newer);
    spool->recent_bytes -= recent->held_bytes;
    free(recent->bytes);
    free(recent);
}

/* Keeps a record in memory; the oldest ones, of whichever journal, make room for it. */
static void recent_add(struct journal *journal, uint64_t number, struct str *bytes)
{
    struct spool *spool = journal->spool;
    struct recent *recent = xcalloc(1, sizeof *recent);

    recent->journal = journal;
    recent->number = number;
    recent->n = bytes->n;
    recent->held_bytes = bytes->cap + sizeof *recent;
    recent->bytes = str_detach(bytes);
    DL_APPEND(journal->recents, recent);
    DL_APPEND2(spool->recents, recent, older, newer);
    spool->recent_bytes += recent->held_bytes;
    while (spool->recent_bytes > SPOOL_MEMORY_BYTES)
        recent_drop(spool->recents);
}

static void reader_stop(struct journal *journal)
{
    segment_reader_close(&journal->reader);
    journal->entry.number = 0;
}

void journal_free(struct journal *journal)
{
    struct spool *spool = journal->spool;
    const struct segment *segment;

    VEC_FOREACH (&journal->segments, segment)
        spool->bytes -= segment->bytes;
    DL_DELETE(spool->journals, journal);
    while (journal->recents)
        recent_drop(journal->recents);
    reader_stop(journal);
    if (journal->fd >= 0)
        (void)close(journal->fd);
    vec_release(&journal->segments);
    fold_release(&journal->head.fold);
    free(journal->path);
    free(journal);
}

struct spool *journal_spool(const struct journal *journal)
{
    return journal->spool;
}

uint64_t journal_build(const struct journal *journal)
{
    return journal->head.build;
}

uint32_t journal_attempt(const struct journal *journal)
{
    return journal->head.attempt;
}

int64_t journal_asked_ms(const struct journal *journal)
{
    return journal->head.asked_ms;
}

const char *journal_tag(const struct journal *journal)
{
    return journal->head.tag;
}

uint64_t journal_last(const struct journal *journal)
{
    return journal->head.fold.last;
}

const struct fold *journal_fold(const struct journal *journal)
{
    return &journal->head.fold;
}

bool journal_is_complete(const struct journal *journal)
{
    return journal->head.fold.finished;
}

bool journal_is_done(const struct journal *journal)
{
    return journal->head.fold.finished && journal->acked == journal->head.fold.last;
}

void journal_retire(struct journal *journal)
{
    journal->retired = true;
}

bool journal_is_retired(const struct journal *journal)
{
    return journal->retired;
}

char *journal_segment_path(const struct journal *journal, uint64_t first)
{
    char name[SEGMENT_NAME_MAX];

    return fs_join(journal->path, segment_name(first, name));
}

static struct segment *newest(const struct journal *journal)
{
    return &journal->segments.v[journal->segments.n - 1];
}

/* Begins a new segment behind the newest record. */
static enum err_code journal_roll(struct journal *journal, struct err *err)
{
    struct segment segment = {.first = journal->head.fold.last + 1};
    char *path = journal_segment_path(journal, segment.first);
    enum err_code rc;
    int fd;

    rc = segment_create(path, &journal->head, &fd, &segment.bytes, err);
    if (!rc) {
        (void)close(journal->fd);
        journal->fd = fd;
        vec_push(&journal->segments, segment);
        journal->spool->bytes += segment.bytes;
    }
    free(path);
    return rc;
}

/* Removes the segments that hold acknowledged records only; the newest stays. */
static void journal_trim(struct journal *journal)
{
    size_t n = 0, i;

    while (n + 1 < journal->segments.n && journal->segments.v[n + 1].first <= journal->acked + 1) {
        char *path = journal_segment_path(journal, journal->segments.v[n].first);

        if (unlink(path) != 0)
            log_warn("spool.remove_failed", LOG_STR("path", path), LOG_INT("errno", errno));
        journal->spool->bytes -= journal->segments.v[n].bytes;
        free(path);
        n++;
    }
    if (n == 0)
        return;
    journal->spool->disk_full = false;
    if (journal->reader_segment < n)
        reader_stop(journal); /* what it stood on is acknowledged; it finds its place when asked */
    else
        journal->reader_segment -= n;
    for (i = n; i < journal->segments.n; i++)
        journal->segments.v[i - n] = journal->segments.v[i];
    journal->segments.n -= n;
}

/* Encodes a record behind its header. */
static enum err_code record_encode(uint64_t number, const struct msg *record, struct str *bytes,
                                   struct err *err)
{
    enum err_code rc;

    if (record->type == REC_LOG_BLOCK) /* one allocation of the right size instead of several */
        (void)str_room(bytes, record->u.log_block.data.n + 128);
    (void)str_room(bytes, JOURNAL_HEADER_BYTES);
    str_grew(bytes, JOURNAL_HEADER_BYTES);
    rc = msg_encode(record, bytes, err);
    if (!rc)
        journal_header(number,
                       view_bytes(bytes->p + JOURNAL_HEADER_BYTES, bytes->n - JOURNAL_HEADER_BYTES),
                       (uint8_t *)bytes->p);
    return rc;
}

/* Puts the bytes of a record at the end of the newest segment, or of a new one when that is full.
 */
static enum err_code record_write(struct journal *journal, struct view bytes, struct err *err)
{
    uint64_t segment_bytes = journal->spool->segment_bytes;
    enum err_code rc = ERR_OK;

    if (newest(journal)->bytes + bytes.n > segment_bytes &&
        newest(journal)->first <= journal->head.fold.last) {
        rc = journal_roll(journal, err);
        if (rc)
            return rc;
        journal_trim(journal);
    }
    return segment_append(journal->fd, newest(journal)->bytes, bytes, err);
}

enum err_code journal_append(struct journal *journal, const struct msg *record, struct err *err)
{
    struct str bytes = STR_INIT(JOURNAL_HEADER_BYTES + JOURNAL_BODY_MAX);
    struct spool *spool = journal->spool;
    uint64_t number = journal->head.fold.last + 1;
    enum err_code rc;

    rc = record_encode(number, record, &bytes, err);
    if (!rc)
        rc = record_write(journal, str_view(&bytes), err);
    if (rc == ERR_NOSPACE && record->type != REC_LOG_BLOCK && spool_use_reserve(spool))
        rc = record_write(journal, str_view(&bytes), err);
    spool->disk_full = rc == ERR_NOSPACE;
    spool->refused |= spool->disk_full;
    if (rc)
        goto done;
    rc = fold_apply(&journal->head.fold, number, record, err);
    if (rc) {
        if (segment_cut(journal->fd, newest(journal)->bytes, NULL) != ERR_OK)
            log_error("spool.cut_failed", LOG_STR("path", journal->path));
        goto done;
    }
    newest(journal)->bytes += bytes.n;
    spool->bytes += bytes.n;
    recent_add(journal, number, &bytes);
    spool->ops->on_record(spool->owner, journal);
done:
    if (rc)
        err_prefix(err, "journal of build %" PRIu64, journal->head.build);
    str_release(&bytes);
    return rc;
}

/* The newest segment never goes by itself. When it is what fills the spool or the disk, and all of
 * it is acknowledged, a fresh one lets it go. */
static void journal_make_room(struct journal *journal)
{
    struct spool *spool = journal->spool;
    struct err err = ERR_INIT;
    enum err_code rc;

    if (spool->bytes < spool->limit_bytes && !spool->disk_full)
        return;
    if (journal->acked < journal->head.fold.last || newest(journal)->first > journal->acked)
        return;
    rc = journal_roll(journal, &err);
    if (rc == ERR_NOSPACE && spool_use_reserve(spool))
        rc = journal_roll(journal, &err);
    if (rc)
        log_warn("spool.roll_failed", LOG_STR("path", journal->path), LOG_ERR(&err));
}

void journal_ack(struct journal *journal, uint64_t number)
{
    struct spool *spool = journal->spool;

    if (number >= journal->next_send)
        number = journal->next_send - 1;
    if (number <= journal->acked)
        return;
    journal->acked = number;
    journal_make_room(journal);
    journal_trim(journal);
    spool_make_reserve(spool);
    spool_check_room(spool);
}

bool journal_rewind(struct journal *journal, uint64_t stored)
{
    if (stored > journal->head.fold.last || stored + 1 < journal->segments.v[0].first)
        return false;
    reader_stop(journal);
    while (journal->recents && journal->recents->number <= stored)
        recent_drop(journal->recents);
    journal->next_send = stored + 1;
    journal_ack(journal, stored);
    return true;
}

/* Opens the segment of that index for reading. */
static enum err_code reader_open(struct journal *journal, size_t index, struct err *err)
{
    char *path = journal_segment_path(journal, journal->segments.v[index].first);
    struct segment_head head;
    enum err_code rc = segment_reader_open(&journal->reader, path, &head, err);

    if (!rc)
        fold_release(&head.fold);
    if (rc == ERR_AGAIN)
        rc = err_set(err, ERR_PROTO, "%s has lost its head", path);
    journal->reader_segment = index;
    journal->entry.number = 0;
    free(path);
    return rc;
}

static size_t segment_of(const struct journal *journal, uint64_t number)
{
    size_t i = journal->segments.n - 1;

    while (i > 0 && journal->segments.v[i].first > number)
        i--;
    return i;
}

/* Brings the reader to record next_send: it reads on from where it stands, into the next segment
 * when one ends. */
static enum err_code reader_reach(struct journal *journal, struct err *err)
{
    enum err_code rc = ERR_OK;

    if (journal->reader.fd < 0)
        rc = reader_open(journal, segment_of(journal, journal->next_send), err);
    while (!rc && journal->entry.number < journal->next_send) {
        rc = segment_reader_next(&journal->reader, &journal->entry, err);
        if (rc == ERR_AGAIN && journal->reader_segment + 1 < journal->segments.n)
            rc = reader_open(journal, journal->reader_segment + 1, err);
        else if (rc == ERR_AGAIN)
            rc =
                err_set(err, ERR_PROTO, "the files end before record %" PRIu64, journal->next_send);
    }
    if (!rc && journal->entry.number != journal->next_send)
        rc = err_set(err, ERR_PROTO, "record %" PRIu64 " stands where %" PRIu64 " should",
                     journal->entry.number, journal->next_send);
    return rc;
}

enum err_code journal_peek(struct journal *journal, struct journal_entry *entry, struct err *err)
{
    const struct recent *recent = journal->recents;
    enum err_code rc;

    if (journal->next_send > journal->head.fold.last)
        return err_set(err, ERR_AGAIN, "all is sent");
    if (recent && recent->number == journal->next_send) {
        entry->number = recent->number;
        entry->body =
            view_bytes(recent->bytes + JOURNAL_HEADER_BYTES, recent->n - JOURNAL_HEADER_BYTES);
        return ERR_OK;
    }
    rc = reader_reach(journal, err);
    if (rc) {
        reader_stop(journal);
        err_prefix(err, "read %s", journal->path);
        return rc;
    }
    *entry = journal->entry;
    return ERR_OK;
}

void journal_sent(struct journal *journal)
{
    struct spool *spool = journal->spool;

    assert(journal->next_send <= journal->head.fold.last);
    if (journal->recents && journal->recents->number == journal->next_send)
        recent_drop(journal->recents);
    journal->next_send++;
    /* From here on memory has it all: the file need not be kept open. */
    if (journal->next_send > journal->head.fold.last ||
        (journal->recents && journal->recents->number == journal->next_send))
        reader_stop(journal);
    DL_DELETE(spool->journals, journal);
    DL_APPEND(spool->journals, journal);
}
