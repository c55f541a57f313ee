/*
 * logs: one file for each step's log (DATA/logs/KKK/BUILD/ATTEMPT-STEP.log, -err for separate
 * standard error; KKK = BUILD / 1000). A file is a sequence of a header and a raw deflate block as
 * the slave cut it. The master never inflates to store, nor to serve a whole log.
 *
 * Header, 48 bytes little-endian: magic "TRB1", u32 data bytes, u64 offset of the first byte in the
 * log, u32 size inflated, u32 lines, u64 lines before it, u32 crc32 of the inflated bytes, u32
 * crc32 of this header's other bytes, i64 time ms.
 */
#ifndef TAILRACE_MASTER_LOGS_H
#define TAILRACE_MASTER_LOGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "master/model.h"
#include "proto/msg.h"

/* The most that a block may hold, inflated and deflated (messages.def). */
enum { LOGS_HEADER_BYTES = 48, LOGS_BLOCK_MAX = 131072, LOGS_DATA_MAX = 98304 };

struct log_name {
    uint64_t build;
    uint32_t attempt, step, stream;
};

/* Owned path. */
char *log_path(const char *data, struct log_name name);

/* Writing: the store thread. Keeps a few files open; knows which are dirty. */
struct log_writer;
struct log_writer *log_writer_new(const char *data);
void log_writer_free(struct log_writer *writer);
/* Appends header and block. *info is what the database knows of this log; the file is first cut
 * back to info->stored_bytes when it is longer. On success *info has grown. ERR_PROTO when the
 * block does not continue the log; ERR_NOSPACE, ERR_IO: *info unchanged. */
enum err_code log_writer_append(struct log_writer *writer, struct log_name name,
                                const struct msg_log_block *block, struct log_info *info,
                                struct err *err) TAILRACE_MUST_CHECK;
/* fdatasync of what was appended to since the last call (and of folders that got a new file). */
enum err_code log_writer_sync(struct log_writer *writer, struct err *err) TAILRACE_MUST_CHECK;
/* A batch was rolled back: forget what is known of open files, so that the next append cuts back.
 */
void log_writer_rollback(struct log_writer *writer);

/* Reading: the web thread. A reader keeps the block index of the logs used last, and extends it as
 * they grow. */
struct log_reader;
struct log_reader *log_reader_new(const char *data);
void log_reader_free(struct log_reader *reader);

/* An open view of one log as it stood (stored_bytes) at opening; independent of the reader
 * afterwards, but to be used on its thread. */
struct log_view;
/* info: what the database says. ERR_NOTFOUND when the log has no file (then bytes are 0, too). A
 * file that was damaged behind our back opens all the same: what stands before the damage can be
 * read, and reading on is ERR_IO with a sentence that says where it broke. */
enum err_code log_view_open(struct log_reader *reader, struct log_name name,
                            const struct log_info *info, struct log_view **out,
                            struct err *err) TAILRACE_MUST_CHECK;
void log_view_close(struct log_view *view); /* NULL allowed */
uint64_t log_view_bytes(const struct log_view *view);
uint64_t log_view_lines(const struct log_view *view);

/* Inflated bytes from offset, at most n; *got 0 at the end. Inflates only the blocks it needs;
 * sequential reads inflate each block once. ERR_IO when the stored bytes do not match their
 * checksum. */
enum err_code log_view_read(struct log_view *view, uint64_t offset, char *out, size_t n,
                            size_t *got, struct err *err) TAILRACE_MUST_CHECK;
/* The byte offset at which line (from 1) begins; the end for a line past it. Lines end with '\n'.
 */
enum err_code log_view_line_offset(struct log_view *view, uint64_t line, uint64_t *offset,
                                   struct err *err) TAILRACE_MUST_CHECK;
/* The whole log as one gzip member without inflating: bytes of that file from its start on. Total
 * size is known before (log_view_gzip_bytes). */
uint64_t log_view_gzip_bytes(const struct log_view *view);
enum err_code log_view_gzip_read(struct log_view *view, uint64_t offset, char *out, size_t n,
                                 size_t *got, struct err *err) TAILRACE_MUST_CHECK;

#endif
