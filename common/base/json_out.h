/*
 * A streaming JSON writer into a str. Commas and quoting are its business; bytes that are not UTF-8
 * become U+FFFD, so the output is always valid JSON. Misnesting is our bug and asserts.
 *
 *     json_object(&j); json_key(&j, "id"); json_u64(&j, 12); json_end(&j);
 */
#ifndef TAILRACE_COMMON_BASE_JSON_OUT_H
#define TAILRACE_COMMON_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/str.h"

enum { JSON_OUT_DEPTH = 16 };

struct json_out {
    struct str *to;
    unsigned depth;
    bool comma; /* a value stands before, at this depth */
    char
        closers[JSON_OUT_DEPTH]; /* how each open level ends; ':' while its key waits for a value */
};

/* Writes to *to, which stays the caller's and must outlive the writer. */
void json_out_init(struct json_out *j, struct str *to);
void json_out_object(struct json_out *j);
void json_out_array(struct json_out *j);
void json_end(struct json_out *j); /* closes the innermost */
void json_key(struct json_out *j, const char *key);
void json_out_null(struct json_out *j);
void json_bool(struct json_out *j, bool value);
void json_u64(struct json_out *j, uint64_t value);
void json_i64(struct json_out *j, int64_t value);
/* 17 significant digits at most; NaN and infinities become null. */
void json_double(struct json_out *j, double value);
void json_str(struct json_out *j, const char *value); /* NULL gives null */
void json_view(struct json_out *j, struct view value);
/* RFC 3339 UTC of wall ms; 0 gives null. */
void json_time(struct json_out *j, int64_t wall_ms);

/* jansson calls functions of these three names inside itself, and the linker would hand it ours. */
static inline void json_object(struct json_out *j)
{
    json_out_object(j);
}

static inline void json_array(struct json_out *j)
{
    json_out_array(j);
}

static inline void json_null(struct json_out *j)
{
    json_out_null(j);
}

/* key and value in one call */
void json_kv_str(struct json_out *j, const char *key, const char *value);
void json_kv_u64(struct json_out *j, const char *key, uint64_t value);
void json_kv_i64(struct json_out *j, const char *key, int64_t value);
void json_kv_bool(struct json_out *j, const char *key, bool value);
void json_kv_time(struct json_out *j, const char *key, int64_t wall_ms);

#endif
