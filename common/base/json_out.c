#include "common/base/json_out.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/text.h"

void json_out_init(struct json_out *j, struct str *to)
{
    memset(j, 0, sizeof *j);
    j->to = to;
}

/* Before every value: the comma, and the check that an object's value has its key. */
static void value_begins(struct json_out *j)
{
    if (j->depth > 0) {
        char *closer = &j->closers[j->depth - 1];

        assert(*closer != '}' && "a value in an object needs a key");
        if (*closer == ':')
            *closer = '}';
    } else {
        assert(!j->comma && "one value to a document");
    }
    if (j->comma)
        str_putc(j->to, ',');
    j->comma = true;
}

static void open_level(struct json_out *j, char opener, char closer)
{
    assert(j->depth < JSON_OUT_DEPTH);
    value_begins(j);
    str_putc(j->to, opener);
    j->closers[j->depth++] = closer;
    j->comma = false;
}

void json_out_object(struct json_out *j)
{
    open_level(j, '{', '}');
}

void json_out_array(struct json_out *j)
{
    open_level(j, '[', ']');
}

void json_end(struct json_out *j)
{
    assert(j->depth > 0);
    assert(j->closers[j->depth - 1] != ':' && "a key without its value");
    str_putc(j->to, j->closers[--j->depth]);
    j->comma = true;
}

/* What stands for one byte inside quotes, or NULL when it stands for itself. */
static const char *escape_of(unsigned char c, char hex[8])
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        if (c >= 0x20 && c != 0x7f)
            return NULL;
        (void)snprintf(hex, 8, "\\u%04x", c);
        return hex;
    }
}

static void put_quoted(struct str *to, struct view v)
{
    const unsigned char *p = (const unsigned char *)v.p;
    char hex[8];
    size_t plain = 0; /* where the run that needs no change began */
    size_t i = 0;

    str_putc(to, '"');
    while (i < v.n) {
        size_t len = p[i] < 0x80 ? 1 : text_utf8_len(p + i, v.n - i);
        const char *instead = len == 1 ? escape_of(p[i], hex) : NULL;

        if (len == 0) {
            instead = "\xef\xbf\xbd";
            len = 1;
        }
        if (instead) {
            str_put_view(to, view_bytes(p + plain, i - plain));
            str_put(to, instead);
            plain = i + len;
        }
        i += len;
    }
    if (v.n > plain)
        str_put_view(to, view_bytes(p + plain, v.n - plain));
    str_putc(to, '"');
}

void json_key(struct json_out *j, const char *key)
{
    assert(j->depth > 0 && j->closers[j->depth - 1] == '}');
    if (j->comma)
        str_putc(j->to, ',');
    put_quoted(j->to, view_of(key));
    str_putc(j->to, ':');
    j->closers[j->depth - 1] = ':';
    j->comma = false;
}

void json_out_null(struct json_out *j)
{
    value_begins(j);
    str_put(j->to, "null");
}

void json_bool(struct json_out *j, bool value)
{
    value_begins(j);
    str_put(j->to, value ? "true" : "false");
}

void json_u64(struct json_out *j, uint64_t value)
{
    value_begins(j);
    str_printf(j->to, "%" PRIu64, value);
}

void json_i64(struct json_out *j, int64_t value)
{
    value_begins(j);
    str_printf(j->to, "%" PRId64, value);
}

void json_double(struct json_out *j, double value)
{
    char text[40];

    if (!isfinite(value)) {
        json_out_null(j);
        return;
    }
    /* The shortest of the forms that read back as the same number. */
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    value_begins(j);
    str_put(j->to, text);
}

void json_str(struct json_out *j, const char *value)
{
    if (!value) {
        json_out_null(j);
        return;
    }
    json_view(j, view_of(value));
}

void json_view(struct json_out *j, struct view value)
{
    value_begins(j);
    put_quoted(j->to, value);
}

void json_time(struct json_out *j, int64_t wall_ms)
{
    char text[CLOCK_TEXT_MAX];

    json_str(j, wall_ms == 0 ? NULL : clock_rfc3339(wall_ms, text));
}

void json_kv_str(struct json_out *j, const char *key, const char *value)
{
    json_key(j, key);
    json_str(j, value);
}

void json_kv_u64(struct json_out *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_u64(j, value);
}

void json_kv_i64(struct json_out *j, const char *key, int64_t value)
{
    json_key(j, key);
    json_i64(j, value);
}

void json_kv_bool(struct json_out *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}

void json_kv_time(struct json_out *j, const char *key, int64_t wall_ms)
{
    json_key(j, key);
    json_time(j, wall_ms);
}
