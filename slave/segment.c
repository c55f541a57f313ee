#include "slave/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/fsx.h"

enum {
    HEAD_VERSION = 2, /* 1 had no asked_ms */
    NAME_DIGITS = 20,
    READ_BYTES = 256 * 1024,
};

const char *segment_name(uint64_t first, char out[SEGMENT_NAME_MAX])
{
    (void)snprintf(out, SEGMENT_NAME_MAX, "%0*" PRIu64, NAME_DIGITS, first);
    return out;
}

uint64_t segment_number(const char *name)
{
    uint64_t number = 0;
    size_t i;

    for (i = 0; name[i]; i++) {
        unsigned digit = (unsigned)(name[i] - '0');

        if (digit > 9 || i >= NAME_DIGITS || number > (UINT64_MAX - digit) / 10)
            return 0;
        number = number * 10 + digit;
    }
    return i == NAME_DIGITS ? number : 0;
}

/* The head's body: numbers little-endian, in this order; a version first. */
static void put_number(struct str *out, uint64_t number, unsigned bytes)
{
    while (bytes-- > 0) {
        str_putc(out, (char)(number & 0xff));
        number >>= 8;
    }
}

static bool take_number(struct view *in, unsigned bytes, uint64_t *number)
{
    unsigned i;

    if (in->n < bytes)
        return false;
    *number = 0;
    for (i = 0; i < bytes; i++)
        *number |= (uint64_t)(unsigned char)in->p[i] << (8 * i);
    in->p += bytes;
    in->n -= bytes;
    return true;
}

static void head_encode(const struct segment_head *head, struct str *out)
{
    const struct fold *fold = &head->fold;
    size_t tag_bytes = strlen(head->tag);
    uint32_t i;
    int s;

    put_number(out, HEAD_VERSION, 1);
    put_number(out, head->build, 8);
    put_number(out, head->attempt, 4);
    put_number(out, (uint64_t)head->asked_ms, 8);
    put_number(out, tag_bytes, 1);
    str_put(out, head->tag);
    put_number(out, fold->last, 8);
    put_number(out, fold->started, 1);
    put_number(out, fold->finished, 1);
    put_number(out, fold->result, 1);
    put_number(out, fold->n_steps, 4);
    for (i = 0; i < fold->n_steps; i++) {
        put_number(out, fold->steps[i].state, 1);
        put_number(out, fold->steps[i].result, 1);
        for (s = 0; s < 2; s++) {
            put_number(out, fold->steps[i].log_bytes[s], 8);
            put_number(out, fold->steps[i].log_lines[s], 8);
        }
    }
}

static bool take_step(struct view *in, struct fold_step *step)
{
    uint64_t state, result;
    int s;

    if (!take_number(in, 1, &state) || state > FOLD_STEP_FINISHED || !take_number(in, 1, &result) ||
        result > RESULT_LAST)
        return false;
    step->state = (enum fold_step_state)state;
    step->result = (enum build_result)result;
    for (s = 0; s < 2; s++)
        if (!take_number(in, 8, &step->log_bytes[s]) || !take_number(in, 8, &step->log_lines[s]))
            return false;
    return true;
}

static bool take_fold(struct view *in, struct fold *fold)
{
    uint64_t last, started, finished, result, n_steps;
    uint32_t i;

    if (!take_number(in, 8, &last) || !take_number(in, 1, &started) ||
        !take_number(in, 1, &finished) || !take_number(in, 1, &result) || result > RESULT_LAST ||
        !take_number(in, 4, &n_steps) || n_steps > JOURNAL_STEPS_MAX)
        return false;
    fold_init(fold, (uint32_t)n_steps);
    fold->last = last;
    fold->started = started != 0;
    fold->finished = finished != 0;
    fold->result = (enum build_result)result;
    for (i = 0; i < fold->n_steps; i++)
        if (!take_step(in, &fold->steps[i]))
            return false;
    return in->n == 0;
}

static enum err_code head_decode(struct view in, struct segment_head *out, struct err *err)
{
    struct segment_head head = {0};
    uint64_t version, attempt, tag_bytes, asked_ms = 0;

    if (!take_number(&in, 1, &version) || version < 1 || version > HEAD_VERSION)
        return err_set(err, ERR_PROTO, "the segment's head is of no version up to %d",
                       HEAD_VERSION);
    if (!take_number(&in, 8, &head.build) || !take_number(&in, 4, &attempt) ||
        (version >= 2 && !take_number(&in, 8, &asked_ms)) || !take_number(&in, 1, &tag_bytes) ||
        tag_bytes >= sizeof head.tag || tag_bytes > in.n)
        goto bad;
    head.attempt = (uint32_t)attempt;
    head.asked_ms = (int64_t)asked_ms;
    memcpy(head.tag, in.p, tag_bytes);
    in.p += tag_bytes;
    in.n -= tag_bytes;
    if (!take_fold(&in, &head.fold))
        goto bad;
    *out = head;
    return ERR_OK;
bad:
    fold_release(&head.fold);
    return err_set(err, ERR_PROTO, "the segment's head is damaged");
}

enum err_code segment_create(const char *path, const struct segment_head *head, int *fd,
                             uint64_t *bytes, struct err *err)
{
    struct str body = STR_INIT(SEGMENT_HEAD_MAX);
    struct str record = STR_INIT(SEGMENT_HEAD_MAX + JOURNAL_HEADER_BYTES);
    uint8_t header[JOURNAL_HEADER_BYTES];
    enum err_code rc = ERR_OK;
    int file;

    head_encode(head, &body);
    journal_header(0, str_view(&body), header);
    str_put_view(&record, view_bytes(header, sizeof header));
    str_put_view(&record, str_view(&body));
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0) {
        rc = err_set_sys(err, errno, "create %s", path);
        goto done;
    }
    rc = segment_append(file, 0, str_view(&record), err);
    if (rc) {
        err_prefix(err, "write %s", path);
        (void)close(file);
        (void)unlink(path);
        goto done;
    }
    *fd = file;
    *bytes = record.n;
done:
    str_release(&body);
    str_release(&record);
    return rc;
}

enum err_code segment_cut(int fd, uint64_t bytes, struct err *err)
{
    if (ftruncate(fd, (off_t)bytes) != 0)
        return err_set_sys(err, errno, "cut a journal's segment");
    return ERR_OK;
}

enum err_code segment_append(int fd, uint64_t bytes, struct view what, struct err *err)
{
    struct err cut = ERR_INIT;
    enum err_code rc = fs_write_all(fd, what.p, what.n, err);

    if (rc && segment_cut(fd, bytes, &cut))
        err_prefix(err, "%s", cut.msg);
    return rc;
}

/* Reads more behind what is not taken yet. ERR_AGAIN at the end of the file. */
static enum err_code reader_fill(struct segment_reader *reader, struct err *err)
{
    ssize_t n;

    str_consume(&reader->buffer, reader->taken);
    reader->taken = 0;
    do {
        n = read(reader->fd, str_room(&reader->buffer, READ_BYTES), READ_BYTES);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return err_set_sys(err, errno, "read a journal's segment");
    if (n == 0)
        return err_set(err, ERR_AGAIN, "the segment ends");
    str_grew(&reader->buffer, (size_t)n);
    return ERR_OK;
}

enum err_code segment_reader_next(struct segment_reader *reader, struct journal_entry *entry,
                                  struct err *err)
{
    for (;;) {
        struct view bytes = str_view(&reader->buffer);
        enum err_code rc;

        bytes.p += reader->taken;
        bytes.n -= reader->taken;
        rc = journal_next(&bytes, entry, err);
        if (rc == ERR_OK) {
            reader->taken += JOURNAL_HEADER_BYTES + entry->body.n;
            reader->offset += JOURNAL_HEADER_BYTES + entry->body.n;
            return ERR_OK;
        }
        if (rc != ERR_AGAIN)
            return rc;
        rc = reader_fill(reader, err);
        if (rc)
            return rc;
    }
}

enum err_code segment_reader_open(struct segment_reader *reader, const char *path,
                                  struct segment_head *head, struct err *err)
{
    struct journal_entry entry;
    enum err_code rc;

    segment_reader_close(reader);
    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (reader->fd < 0)
        return err_set_sys(err, errno, "open %s", path);
    reader->buffer.max = READ_BYTES + JOURNAL_HEADER_BYTES + JOURNAL_BODY_MAX;
    rc = segment_reader_next(reader, &entry, err);
    if (!rc && entry.number != 0)
        rc = err_set(err, ERR_PROTO, "the segment has no head");
    if (!rc)
        rc = head_decode(entry.body, head, err);
    if (rc) {
        err_prefix(err, "%s", path);
        segment_reader_close(reader);
    }
    return rc;
}

void segment_reader_close(struct segment_reader *reader)
{
    if (reader->fd >= 0)
        (void)close(reader->fd);
    reader->fd = -1;
    reader->offset = 0;
    reader->taken = 0;
    str_release(&reader->buffer);
}
