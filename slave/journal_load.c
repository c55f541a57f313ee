/* Reading a journal that an earlier run of the agent left. Only the newest segment is read: its
 * head says what the others add up to. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "proto/codec.h"
#include "slave/spool_private.h"

static int is_segment(const struct dirent *entry)
{
    return segment_number(entry->d_name) > 0;
}

/* Lists the folder's segments, oldest first, with their sizes. */
static enum err_code list_segments(struct journal *journal, struct err *err)
{
    struct dirent **names = NULL;
    int n = scandir(journal->path, &names, is_segment, alphasort);
    int i;

    if (n < 0)
        return err_set_sys(err, errno, "list %s", journal->path);
    for (i = 0; i < n; i++) {
        struct segment segment = {.first = segment_number(names[i]->d_name)};
        char *path = journal_segment_path(journal, segment.first);
        struct stat st;

        if (stat(path, &st) == 0) {
            segment.bytes = (uint64_t)st.st_size;
            vec_push(&journal->segments, segment);
            journal->spool->bytes += segment.bytes;
        }
        free(path);
        free(names[i]);
    }
    free(names);
    return ERR_OK;
}

/* Opens the newest segment that has a whole head, and removes those that have none: the agent died
 * while it made them, and nothing was in them. */
static enum err_code open_newest(struct journal *journal, struct segment_reader *reader,
                                 struct err *err)
{
    while (journal->segments.n > 0) {
        struct segment *segment = &journal->segments.v[journal->segments.n - 1];
        char *path = journal_segment_path(journal, segment->first);
        enum err_code rc = segment_reader_open(reader, path, &journal->head, err);

        if (rc == ERR_AGAIN && unlink(path) == 0) {
            journal->spool->bytes -= segment->bytes;
            journal->segments.n--;
            free(path);
            continue;
        }
        if (!rc && journal->head.fold.last + 1 != segment->first)
            rc = err_set(err, ERR_PROTO, "%s does not begin with its record", path);
        free(path);
        return rc;
    }
    return err_set(err, ERR_NOTFOUND, "%s has no records", journal->path);
}

static enum err_code replay(struct journal *journal, struct segment_reader *reader, struct err *err)
{
    struct msg_arena *arena = msg_arena_new();
    enum err_code rc;

    for (;;) {
        struct journal_entry entry;
        struct msg record;

        rc = segment_reader_next(reader, &entry, err);
        if (!rc)
            rc = msg_decode(arena, entry.body, &record, err);
        if (!rc)
            rc = fold_apply(&journal->head.fold, entry.number, &record, err);
        if (rc)
            break;
    }
    msg_arena_free(arena);
    if (rc == ERR_AGAIN)
        return ERR_OK;
    if (rc == ERR_EXISTS) /* a number twice in one file is damage, whatever it means elsewhere */
        rc = ERR_PROTO;
    err_prefix(err, "record %" PRIu64, journal->head.fold.last + 1);
    return rc;
}

/* Ready for appending: what the agent had begun to write when it died is cut away. */
static enum err_code open_for_append(struct journal *journal, uint64_t whole_bytes, struct err *err)
{
    struct segment *segment = &journal->segments.v[journal->segments.n - 1];
    char *path = journal_segment_path(journal, segment->first);
    enum err_code rc = ERR_OK;

    journal->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (journal->fd < 0)
        rc = err_set_sys(err, errno, "open %s", path);
    else if (whole_bytes < segment->bytes)
        rc = segment_cut(journal->fd, whole_bytes, err);
    if (!rc) {
        journal->spool->bytes -= segment->bytes - whole_bytes;
        segment->bytes = whole_bytes;
    }
    free(path);
    return rc;
}

enum err_code journal_load(struct journal *journal, struct err *err)
{
    struct segment_reader reader = SEGMENT_READER_INIT;
    uint64_t whole_bytes = 0;
    enum err_code rc;

    rc = list_segments(journal, err);
    if (!rc)
        rc = open_newest(journal, &reader, err);
    if (!rc)
        rc = replay(journal, &reader, err);
    whole_bytes = reader.offset;
    segment_reader_close(&reader);
    if (!rc)
        rc = open_for_append(journal, whole_bytes, err);
    if (!rc) {
        journal->acked = journal->segments.v[0].first - 1;
        journal->next_send = journal->acked + 1;
    }
    return rc;
}
