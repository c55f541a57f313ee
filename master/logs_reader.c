#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "master/logs_view.h"

enum { READER_LOGS = 64 };

/* The table keeps the logs in the order of use, the least recent first. */
struct cached {
    struct log_key key;
    struct log_index *index;
    UT_hash_handle hh;
};

struct log_reader {
    char *data;
    struct cached *logs;
};

struct log_reader *log_reader_new(const char *data)
{
    struct log_reader *reader = xcalloc(1, sizeof *reader);

    reader->data = xstrdup(data);
    return reader;
}

static void cached_drop(struct log_reader *reader, struct cached *log)
{
    HASH_DEL(reader->logs, log);
    log_index_unref(&log->index);
    free(log);
}

void log_reader_free(struct log_reader *reader)
{
    struct cached *log, *next;

    if (!reader)
        return;
    HASH_ITER (hh, reader->logs, log, next) {
        cached_drop(reader, log);
    }
    free(reader->data);
    free(reader);
}

static enum err_code cached_get(struct log_reader *reader, struct log_name name,
                                struct cached **out, struct err *err)
{
    struct log_key key = log_key_of(name);
    struct log_index *index;
    struct cached *log;
    enum err_code rc;
    char *path;

    HASH_FIND(hh, reader->logs, &key, sizeof key, log);
    if (log) {
        HASH_DEL(reader->logs, log);
    } else {
        path = log_path(reader->data, name);
        rc = log_index_open(path, &index, err);
        free(path);
        if (rc)
            return rc;
        if (HASH_COUNT(reader->logs) >= READER_LOGS)
            cached_drop(reader, reader->logs);
        log = xcalloc(1, sizeof *log);
        log->key = key;
        log->index = index;
    }
    HASH_ADD(hh, reader->logs, key, sizeof log->key, log);
    *out = log;
    return ERR_OK;
}

/* Compares what was found with what the database says. */
static void view_judge(struct log_view *view, const struct log_info *info)
{
    const struct log_spot *end = log_view_end(view);

    if (end->file_at == info->stored_bytes && end->byte == info->bytes && end->line == info->lines)
        return;
    if (end->file_at < info->stored_bytes && view->index->broken.code != ERR_OK)
        view->broken = view->index->broken;
    else
        (void)err_set(&view->broken, ERR_IO,
                      "the log's file holds %llu bytes and the database says %llu",
                      (unsigned long long)end->byte, (unsigned long long)info->bytes);
}

enum err_code log_view_open(struct log_reader *reader, struct log_name name,
                            const struct log_info *info, struct log_view **out, struct err *err)
{
    struct log_view *view;
    struct cached *log;
    enum err_code rc = cached_get(reader, name, &log, err);

    if (rc == ERR_NOTFOUND && info->stored_bytes > 0)
        return err_set(err, ERR_IO, "the log's file is gone (build %llu, step %u)",
                       (unsigned long long)name.build, name.step);
    if (rc)
        return rc;
    log_index_extend(log->index, info->stored_bytes);
    view = xcalloc(1, sizeof *view);
    view->index = log->index;
    view->index->refs++;
    view->n = log_index_blocks(log->index, info->stored_bytes);
    view->block_at = SIZE_MAX;
    view->bytes = info->bytes;
    view->lines = info->lines;
    view_judge(view, info);
    if (view->broken.code != ERR_OK)
        cached_drop(reader, log); /* somebody may put the file right */
    *out = view;
    return ERR_OK;
}

void log_view_close(struct log_view *view)
{
    if (!view)
        return;
    if (view->inflating)
        (void)inflateEnd(&view->inflate);
    log_index_unref(&view->index);
    free(view->data);
    free(view->block);
    free(view);
}

uint64_t log_view_bytes(const struct log_view *view)
{
    return view->bytes;
}

uint64_t log_view_lines(const struct log_view *view)
{
    return view->lines;
}

enum err_code log_view_fail(const struct log_view *view, struct err *err)
{
    return err_set(err, ERR_IO, "%s", view->broken.msg);
}

enum err_code log_view_pread(const struct log_view *view, void *out, size_t n, uint64_t at,
                             struct err *err)
{
    return fs_pread_all(view->index->fd, out, n, at, err);
}

static enum err_code inflate_block(struct log_view *view, size_t data_bytes, size_t size,
                                   struct err *err)
{
    z_stream *z = &view->inflate;
    int rc;

    if (!view->inflating) {
        if (inflateInit2(z, -MAX_WBITS) != Z_OK)
            abort();
        view->inflating = true;
    } else {
        (void)inflateReset(z);
    }
    z->next_in = (Bytef *)view->data;
    z->avail_in = (uInt)data_bytes;
    z->next_out = (Bytef *)view->block;
    z->avail_out = (uInt)size + 1; /* one more, to notice what is too long */
    rc = inflate(z, Z_SYNC_FLUSH);
    if ((rc != Z_OK && rc != Z_BUF_ERROR) || z->avail_in != 0 || z->avail_out != 1)
        return err_set(err, ERR_IO, "%s", z->msg ? z->msg : "its length is wrong");
    return ERR_OK;
}

enum err_code log_view_load(struct log_view *view, size_t block, struct err *err)
{
    const struct log_spot *spot = &view->index->spots[block];
    size_t data_bytes = (size_t)(spot[1].file_at - spot[0].file_at) - LOGS_HEADER_BYTES;
    size_t size = (size_t)(spot[1].byte - spot[0].byte);
    uint8_t packed[LOGS_HEADER_BYTES];
    struct log_header header = {0};
    enum err_code rc;

    if (view->block_at == block)
        return ERR_OK;
    assert(block < view->n && data_bytes <= LOGS_DATA_MAX && size <= LOGS_BLOCK_MAX);
    if (!view->data) {
        view->data = xmalloc(LOGS_DATA_MAX);
        view->block = xmalloc(LOGS_BLOCK_MAX + 1);
    }
    view->block_at = SIZE_MAX;
    rc = log_view_pread(view, packed, sizeof packed, spot->file_at, err);
    if (rc == ERR_OK)
        rc = log_header_unpack(packed, &header, err);
    if (rc == ERR_OK)
        rc = log_view_pread(view, view->data, data_bytes, spot->file_at + LOGS_HEADER_BYTES, err);
    if (rc == ERR_OK)
        rc = inflate_block(view, data_bytes, size, err);
    if (rc == ERR_OK && (uint32_t)crc32(0, (const Bytef *)view->block, (uInt)size) != header.crc)
        rc = err_set(err, ERR_IO, "its checksum is wrong");
    if (rc) {
        err_prefix(err, "the log is damaged at byte %llu", (unsigned long long)spot->byte);
        return err ? (err->code = ERR_IO) : ERR_IO;
    }
    view->block_at = block;
    return ERR_OK;
}

/* The block that holds the byte, which lies before the view's end. */
static size_t block_of_byte(const struct log_view *view, uint64_t byte)
{
    size_t low = 0, high = view->n - 1;

    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (view->index->spots[middle].byte <= byte)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

enum err_code log_view_read(struct log_view *view, uint64_t offset, char *out, size_t n,
                            size_t *got, struct err *err)
{
    uint64_t end = log_view_end(view)->byte;
    size_t done = 0;
    size_t block;
    enum err_code rc;

    if (offset >= end && offset < view->bytes && n > 0)
        return log_view_fail(view, err);
    if (end > view->bytes)
        end = view->bytes;
    for (block = offset < end ? block_of_byte(view, offset) : view->n;
         done < n && block < view->n && offset < end; block++) {
        const struct log_spot *spot = &view->index->spots[block];
        size_t from = (size_t)(offset - spot->byte);
        uint64_t stop = spot[1].byte < end ? spot[1].byte : end;
        size_t take = (size_t)(stop - offset);

        rc = log_view_load(view, block, err);
        if (rc && done == 0)
            return rc;
        if (rc)
            break; /* what was read is good; the next read says why it ends */
        if (take > n - done)
            take = n - done;
        memcpy(out + done, view->block + from, take);
        done += take;
        offset += take;
    }
    *got = done;
    return ERR_OK;
}

/* The block that holds the newline of that number (from 1), which lies before the view's end. */
static size_t block_of_newline(const struct log_view *view, uint64_t newline)
{
    size_t low = 0, high = view->n - 1;

    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;

        if (view->index->spots[middle].line < newline)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

enum err_code log_view_line_offset(struct log_view *view, uint64_t line, uint64_t *offset,
                                   struct err *err)
{
    const struct log_spot *spot;
    const char *p, *end;
    uint64_t left;
    size_t block;
    enum err_code rc;

    if (line <= 1) {
        *offset = 0;
        return ERR_OK;
    }
    if (line - 1 > log_view_end(view)->line) {
        if (view->broken.code != ERR_OK)
            return log_view_fail(view, err);
        *offset = view->bytes;
        return ERR_OK;
    }
    block = block_of_newline(view, line - 1);
    rc = log_view_load(view, block, err);
    if (rc)
        return rc;
    spot = &view->index->spots[block];
    p = view->block;
    end = view->block + (spot[1].byte - spot[0].byte);
    for (left = line - 1 - spot->line; left > 0 && p; left--) {
        p = memchr(p, '\n', (size_t)(end - p));
        p = p ? p + 1 : NULL;
    }
    if (!p)
        return err_set(err, ERR_IO, "the log's block at byte %llu has fewer lines than it says",
                       (unsigned long long)spot->byte);
    *offset = spot->byte + (uint64_t)(p - view->block);
    return ERR_OK;
}
