/*
 * raw: msgpack written by hand, right or wrong, without the codec under test.
 */
#ifndef TAILRACE_TESTS_UNIT_PROTO_RAW_H
#define TAILRACE_TESTS_UNIT_PROTO_RAW_H

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/shape.h"

enum { RAW_MAX_BYTES = 4 << 20 };

static inline void raw_be(struct str *out, uint64_t value, int bytes)
{
    while (bytes-- > 0)
        str_putc(out, (char)(unsigned char)(value >> (8 * bytes)));
}

static inline void raw_array(struct str *out, size_t n)
{
    raw_be(out, 0xdd, 1);
    raw_be(out, n, 4);
}

static inline void raw_u64(struct str *out, uint64_t value)
{
    raw_be(out, 0xcf, 1);
    raw_be(out, value, 8);
}

static inline void raw_i64(struct str *out, int64_t value)
{
    raw_be(out, 0xd3, 1);
    raw_be(out, (uint64_t)value, 8);
}

static inline void raw_f64(struct str *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    raw_be(out, 0xcb, 1);
    raw_be(out, bits, 8);
}

static inline void raw_f32(struct str *out, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    raw_be(out, 0xca, 1);
    raw_be(out, bits, 4);
}

static inline void raw_text(struct str *out, struct view text)
{
    raw_be(out, 0xdb, 1);
    raw_be(out, text.n, 4);
    str_put_view(out, text);
}

static inline void raw_bin(struct str *out, struct view bytes)
{
    raw_be(out, 0xc6, 1);
    raw_be(out, bytes.n, 4);
    str_put_view(out, bytes);
}

static inline void raw_nil(struct str *out)
{
    raw_be(out, 0xc0, 1);
}

/* n zeroed bytes as a text or as binary data. */
static inline void raw_filled(struct str *out, enum field_kind kind, size_t n)
{
    char *bytes = xcalloc(n, 1);

    if (kind == FIELD_BIN)
        raw_bin(out, view_bytes(bytes, n));
    else
        raw_text(out, view_bytes(bytes, n));
    free(bytes);
}

static inline void raw_defaults(struct str *out, const struct shape *shape, size_t n);

/* An empty value of the field's kind. */
static inline void raw_default(struct str *out, const struct field *field)
{
    switch (field->kind) {
    case FIELD_U32:
    case FIELD_U64:
    case FIELD_I64:
    case FIELD_F64:
        raw_be(out, 0, 1);
        return;
    case FIELD_BOOL:
        raw_be(out, 0xc2, 1);
        return;
    case FIELD_TEXT:
    case FIELD_BIN:
        raw_filled(out, field->kind, 0);
        return;
    case FIELD_TEXTS:
    case FIELD_LIST:
        raw_array(out, 0);
        return;
    }
}

/* The first n fields, empty. */
static inline void raw_defaults(struct str *out, const struct shape *shape, size_t n)
{
    for (size_t i = 0; i < n; i++)
        raw_default(out, &shape->fields[i]);
}

/* The array's head and the number of a message with n fields. */
static inline void raw_head(struct str *out, const struct shape *shape, size_t n)
{
    raw_array(out, n + 1);
    raw_u64(out, shape->number);
}

/* n elements of a TEXTS or LIST, each empty. */
static inline void raw_elements(struct str *out, const struct field *field, size_t n)
{
    raw_array(out, n);
    for (size_t i = 0; i < n; i++) {
        if (field->kind == FIELD_TEXTS) {
            raw_filled(out, FIELD_TEXT, 0);
            continue;
        }
        raw_array(out, field->element->required);
        raw_defaults(out, field->element, field->element->required);
    }
}

#endif
