/* A step's log: whole, in part, by lines, or as it grows. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/http/api.h"
#include "master/http/params.h"
#include "master/http/range.h"
#include "master/http/steplog.h"

enum { LINES = 500, LINES_MAX = 10000, STALL_S = 600 };

/* What the parameters ask for. */
struct wish {
    struct log_name name;
    bool follow, download;
    bool has_offset, has_length;
    uint64_t offset, length;
    uint64_t line, lines; /* line 0: not by lines */
    uint64_t tail;        /* 0: not the tail */
};

/* What is sent of an open log. */
struct part {
    struct log_view *view; /* NULL: an empty log */
    uint64_t first, n;
    bool gzip;
};

static enum err_code read_stream(const char *word, uint32_t *out, struct err *err)
{
    if (word && strcmp(word, "stderr") != 0 && strcmp(word, "log") != 0)
        return err_set(err, ERR_CONFIG, "parameter stream: '%.80s' is not log or stderr", word);
    *out = word && strcmp(word, "stderr") == 0;
    return ERR_OK;
}

static enum err_code check_modes(const struct wish *wish, const struct url *url, struct err *err)
{
    bool bytes = wish->has_offset || wish->has_length;

    if ((wish->line > 0) + (wish->tail > 0) + bytes > 1)
        return err_set(err, ERR_CONFIG,
                       "parameters line, tail and offset or length: expected one of them");
    if (wish->follow && (wish->line > 0 || wish->tail > 0 || wish->has_length))
        return err_set(err, ERR_CONFIG, "parameter follow: expected alone or with offset");
    if (wish->line == 0 && url_param(url, "lines"))
        return err_set(err, ERR_CONFIG, "parameter lines: expected together with line");
    return ERR_OK;
}

static enum err_code read_wish(const struct call *call, struct wish *out, struct err *err)
{
    const struct url *url = &call->url;
    struct wish wish = {.lines = LINES};
    uint64_t attempt = 0;

    wish.name.build = params_id(call->wild[0]);
    wish.name.step = (uint32_t)params_id(call->wild[1]);
    wish.has_offset = url_param(url, "offset") != NULL;
    wish.has_length = url_param(url, "length") != NULL;
    if (wish.name.build == 0 || wish.name.step == 0)
        return err_set(err, ERR_NOTFOUND, "there is no step %.40s of build %.40s", call->wild[1],
                       call->wild[0]);
    if (params_u64(url, "attempt", 1, UINT32_MAX, &attempt, err) ||
        read_stream(url_param(url, "stream"), &wish.name.stream, err) ||
        params_u64(url, "offset", 0, INT64_MAX, &wish.offset, err) ||
        params_u64(url, "length", 0, INT64_MAX, &wish.length, err) ||
        params_u64(url, "line", 1, INT64_MAX, &wish.line, err) ||
        params_u64(url, "lines", 1, LINES_MAX, &wish.lines, err) ||
        params_u64(url, "tail", 1, LINES_MAX, &wish.tail, err) ||
        params_bool(url, "follow", &wish.follow, err) ||
        params_bool(url, "download", &wish.download, err) || check_modes(&wish, url, err))
        return err->code;
    wish.name.attempt = (uint32_t)attempt;
    *out = wish;
    return ERR_OK;
}

/* ---- headers ---- */

static void add_number(struct request *request, const char *name, uint64_t number)
{
    char *text = xasprintf("%" PRIu64, number);

    request_set_header(request, name, text);
    free(text);
}

static void add_headers(struct request *request, const struct wish *wish, const struct steplog *log)
{
    request_set_header(request, "Content-Type", "text/plain; charset=utf-8");
    request_set_header(request, "Cache-Control", "no-cache");
    request_set_header(request, "Vary", "Accept-Encoding");
    answer_add_careful(request);
    add_number(request, "X-Tailrace-Log-Bytes", log->info.bytes);
    add_number(request, "X-Tailrace-Log-Lines", log->info.lines);
    request_set_header(request, "X-Tailrace-Log-Complete", log->complete ? "true" : "false");
    if (wish->download) {
        char *name = xasprintf(
            "attachment; filename=\"build-%" PRIu64 "-attempt-%" PRIu32 "-step-%" PRIu32 "%s.log\"",
            log->name.build, log->name.attempt, log->name.step, log->name.stream ? "-stderr" : "");

        request_set_header(request, "Content-Disposition", name);
        free(name);
    }
}

static void answer_outside(struct request *request, uint64_t bytes)
{
    char *range = xasprintf("bytes */%" PRIu64, bytes);

    request_set_header(request, "Content-Range", range);
    free(range);
    answer_error(request, 416, "range", "the log has %" PRIu64 " bytes", bytes);
}

/* ---- the bytes ---- */

static ssize_t part_read(void *arg, uint64_t at, char *out, size_t n)
{
    struct part *part = arg;
    struct err err = ERR_INIT;
    enum err_code rc;
    size_t got = 0;

    if (at >= part->n)
        return STREAM_END;
    if (n > part->n - at)
        n = (size_t)(part->n - at);
    rc = part->gzip ? log_view_gzip_read(part->view, part->first + at, out, n, &got, &err)
                    : log_view_read(part->view, part->first + at, out, n, &got, &err);
    if (rc)
        log_warn("web.log", LOG_ERR(&err));
    return rc || got == 0 ? STREAM_BROKEN : (ssize_t)got;
}

static void part_free(void *arg)
{
    struct part *part = arg;

    log_view_close(part->view);
    free(part);
}

/* Takes over the view. */
static void send_part(struct request *request, int status, const struct part *part)
{
    struct part *mine = xmemdup(part, sizeof *part);
    const struct request_stream stream = {
        .size = part->n, .read = part_read, .free = part_free, .arg = mine, .stall_s = STALL_S};

    request_answer_stream(request, status, &stream);
}

/* Lines `line` to line + n - 1 as bytes; *line becomes the one that the part begins with: at most
 * the line behind the last newline. */
static enum err_code find_lines(struct part *part, uint64_t *line, uint64_t n, struct err *err)
{
    uint64_t last = part->view ? log_view_lines(part->view) + 1 : 1;
    bool past = *line > last;
    uint64_t end = 0;
    enum err_code rc;

    if (past)
        *line = last;
    part->first = part->n = 0;
    if (!part->view)
        return ERR_OK;
    rc = log_view_line_offset(part->view, *line, &part->first, err);
    if (rc == ERR_OK && !past)
        rc = log_view_line_offset(part->view, *line + n, &end, err);
    if (rc == ERR_OK && !past)
        part->n = end - part->first;
    return rc;
}

/* The number of the first of the last n lines; bytes behind the last newline are a line, too. */
static enum err_code find_tail(struct part *part, uint64_t n, uint64_t *line, struct err *err)
{
    uint64_t lines = part->view ? log_view_lines(part->view) : 0;
    uint64_t end = 0;

    if (part->view) {
        enum err_code rc = log_view_line_offset(part->view, lines + 1, &end, err);

        if (rc)
            return rc;
        lines += end < log_view_bytes(part->view);
    }
    *line = lines > n ? lines - n + 1 : 1;
    return ERR_OK;
}

static void send_lines(struct request *request, const struct wish *wish, struct part *part)
{
    uint64_t line = wish->line;
    struct err err = ERR_INIT;

    if ((wish->tail && find_tail(part, wish->tail, &line, &err)) ||
        find_lines(part, &line, wish->tail ? wish->tail : wish->lines, &err)) {
        log_view_close(part->view);
        answer_err(request, &err);
        return;
    }
    add_number(request, "X-Tailrace-Offset", part->first);
    add_number(request, "X-Tailrace-Line", line);
    send_part(request, 200, part);
}

static void send_bytes(struct request *request, const struct wish *wish, struct part *part,
                       uint64_t bytes)
{
    if (wish->offset > bytes) {
        log_view_close(part->view);
        answer_outside(request, bytes);
        return;
    }
    part->first = wish->offset;
    part->n = bytes - wish->offset;
    if (wish->has_length && wish->length < part->n)
        part->n = wish->length;
    send_part(request, 200, part);
}

static void send_whole(struct request *request, struct part *part, uint64_t bytes)
{
    const char *range =
        request_header(request, "If-Range") ? NULL : request_header(request, "Range");
    enum range_kind kind = range_parse(range, bytes, &part->first, &part->n);
    char *text;

    request_set_header(request, "Accept-Ranges", "bytes");
    if (kind == RANGE_OUTSIDE) {
        log_view_close(part->view);
        answer_outside(request, bytes);
    } else if (kind == RANGE_PART) {
        text = xasprintf("bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, part->first,
                         part->first + part->n - 1, bytes);
        request_set_header(request, "Content-Range", text);
        free(text);
        send_part(request, 206, part);
    } else {
        part->first = 0;
        part->gzip = part->view && range_accepts_gzip(request_header(request, "Accept-Encoding"));
        part->n = part->gzip ? log_view_gzip_bytes(part->view) : bytes;
        if (part->gzip)
            request_set_header(request, "Content-Encoding", "gzip");
        send_part(request, 200, part);
    }
}

static void follow(struct site *site, struct request *request, const struct wish *wish,
                   const struct steplog *log)
{
    if (!site_has_room(site, request))
        return;
    add_headers(request, wish, log);
    if (wish->offset > log->info.bytes)
        answer_outside(request, log->info.bytes);
    else
        follows_start(site->follows, request, log, wish->offset);
}

void api_log(struct site *site, struct call *call)
{
    struct request *request = call->request;
    struct part part = {.view = NULL};
    struct steplog log = {0};
    struct wish wish = {0};
    struct err err = ERR_INIT;

    if (read_wish(call, &wish, &err) || steplog_read(site->reader, &wish.name, &log, &err)) {
        answer_err(request, &err);
        return;
    }
    if (wish.follow) {
        follow(site, request, &wish, &log);
        return;
    }
    if (steplog_open(site->logs, &log, &part.view, &err)) {
        answer_err(request, &err);
        return;
    }
    add_headers(request, &wish, &log);
    if (wish.line || wish.tail)
        send_lines(request, &wish, &part);
    else if (wish.has_offset || wish.has_length)
        send_bytes(request, &wish, &part, log.info.bytes);
    else
        send_whole(request, &part, log.info.bytes);
}
