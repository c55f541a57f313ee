/*
 * A log file of any bytes, read in every way: whole, from the middle, by line, as gzip. Whatever is
 * read must agree with itself.
 *
 * The first 8 bytes of the input say what the database believes (bytes and lines of the log, as
 * u32), the rest is the file. When the highest bit of the 8 is set, the headers' checksums and
 * places are put right first, so that a fuzzer gets behind them to what the blocks hold.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "master/logs.h"
#include "master/logs_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct log_name name = {.build = 1, .attempt = 1, .step = 1};
static char folder[64];

static void folder_drop(void)
{
    struct err err;

    if (fs_remove_tree(folder, &err) != ERR_OK)
        (void)fprintf(stderr, "%s\n", err.msg);
}

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void folder_make(void)
{
    char *logs;

    if (folder[0])
        return;
    (void)snprintf(folder, sizeof folder, "%s",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm/logblocks-XXXXXX"
                                                 : "/tmp/logblocks-XXXXXX");
    require(mkdtemp(folder) != NULL);
    (void)atexit(folder_drop);
    logs = xasprintf("%s/logs/0/1", folder);
    require(fs_mkdirs(logs, NULL) == ERR_OK);
    free(logs);
}

static void file_write(const uint8_t *data, size_t size)
{
    char *path = log_path(folder, name);
    FILE *file = fopen(path, "wb");

    require(file != NULL);
    require(fwrite(data, 1, size, file) == size);
    require(fclose(file) == 0);
    free(path);
}

/* Reads to the end or to the damage, in pieces; gives how far it came. */
static uint64_t read_pieces(struct log_view *view, size_t piece, struct str *out)
{
    char *bytes = xmalloc(piece);
    uint64_t offset = 0;
    size_t got = 0;

    do {
        if (log_view_read(view, offset, bytes, piece, &got, NULL) != ERR_OK)
            break;
        require(str_append(out, bytes, got, NULL) == ERR_OK);
        offset += got;
    } while (got > 0);
    free(bytes);
    return offset;
}

static void read_gzip(struct log_view *view)
{
    char bytes[1000];
    uint64_t offset = 0;
    size_t got = 0;

    while (log_view_gzip_read(view, offset, bytes, sizeof bytes, &got, NULL) == ERR_OK && got > 0)
        offset += got;
    require(offset <= log_view_gzip_bytes(view));
}

static void check_lines(struct log_view *view, const struct str *whole)
{
    uint64_t line = 1, at;

    for (size_t i = 0; i < whole->n && line < 200; i++) {
        if (whole->p[i] != '\n')
            continue;
        /* A header may lie about its lines; then the place is another, but never outside. */
        if (log_view_line_offset(view, ++line, &at, NULL) == ERR_OK)
            require(at <= log_view_bytes(view));
    }
    if (log_view_line_offset(view, UINT64_MAX, &at, NULL) == ERR_OK)
        require(at <= log_view_bytes(view));
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Makes every header fit the one before it and the bytes that are left. */
static void repair(uint8_t *file, size_t size, struct log_info *info)
{
    size_t at = 0;

    while (size - at > LOGS_HEADER_BYTES) {
        size_t left = size - at - LOGS_HEADER_BYTES;
        struct log_header header = {
            .data_bytes = get32(file + at + 4),
            .offset = info->bytes,
            .size = get32(file + at + 16) % LOGS_BLOCK_MAX + 1,
            .lines_before = info->lines,
            .crc = get32(file + at + 32),
        };

        header.lines = get32(file + at + 20) % (header.size + 1);
        if (header.data_bytes < 1 || header.data_bytes > left)
            header.data_bytes = (uint32_t)left;
        if (header.data_bytes > LOGS_DATA_MAX)
            header.data_bytes = LOGS_DATA_MAX;
        log_header_pack(&header, file + at);
        at += LOGS_HEADER_BYTES + header.data_bytes;
        info->bytes += header.size;
        info->lines += header.lines;
    }
    info->stored_bytes = at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str whole = STR_INIT(64 << 20), pieces = STR_INIT(64 << 20);
    struct log_reader *reader;
    struct log_view *view = NULL;
    struct log_info info = {0};
    uint8_t *file;

    if (size < 8 || size > 1 << 20)
        return 0;
    file = xmemdup(data + 8, size - 8);
    info = (struct log_info){get32(data), get32(data + 4) & 0x7fffffff, size - 8};
    if (data[7] & 0x80) {
        info = (struct log_info){0, 0, 0};
        repair(file, size - 8, &info);
    }
    folder_make();
    file_write(file, size - 8);
    free(file);
    reader = log_reader_new(folder);
    if (log_view_open(reader, name, &info, &view, NULL) == ERR_OK) {
        (void)read_pieces(view, 1 << 20, &whole);
        (void)read_pieces(view, 777, &pieces);
        require(whole.n == pieces.n);
        require(whole.n == 0 || memcmp(whole.p, pieces.p, whole.n) == 0);
        check_lines(view, &whole);
        read_gzip(view);
    }
    log_view_close(view);
    log_reader_free(reader);
    str_release(&whole);
    str_release(&pieces);
    return 0;
}
