#include "proto/codec.h"

#include <inttypes.h>
#include <math.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/scan.h"
#include "proto/shape.h"
#include "proto/spot.h"

static enum err_code check_bytes(const struct spot *spot, const char *what, size_t n, size_t most,
                                 enum err_code code, struct err *err)
{
    if (n > most)
        return spot_refuse(spot, code, err, "%s of %zu bytes, at most %zu", what, n, most);
    return ERR_OK;
}

static enum err_code check_count(const struct spot *spot, size_t n, size_t most, enum err_code code,
                                 struct err *err)
{
    if (n > most)
        return spot_refuse(spot, code, err, "a list of %zu, at most %zu", n, most);
    return ERR_OK;
}

/* --- encoding --- */

struct encoder {
    msgpack_packer packer;
    struct str *out;
    size_t objects; /* the receiver's scan counts them too */
    bool full;
    struct err *err;
};

/* msgpack's sink. After a refusal nothing more is written, so that the end is seen once. */
static int encoder_write(void *data, const char *bytes, size_t n)
{
    struct encoder *e = data;

    if (!e->full && str_append(e->out, bytes, n, NULL) != ERR_OK)
        e->full = true;
    return e->full ? -1 : 0;
}

static enum err_code encode_text(struct encoder *e, const struct spot *spot, struct view text,
                                 size_t most)
{
    enum err_code rc = check_bytes(spot, "text", text.n, most, ERR_LIMIT, e->err);

    if (rc)
        return rc;
    (void)msgpack_pack_str(&e->packer, text.n);
    (void)msgpack_pack_str_body(&e->packer, text.n ? text.p : "", text.n);
    return ERR_OK;
}

static enum err_code encode_bin(struct encoder *e, const struct spot *spot, struct view bytes,
                                size_t most)
{
    enum err_code rc = check_bytes(spot, "data", bytes.n, most, ERR_LIMIT, e->err);

    if (rc)
        return rc;
    (void)msgpack_pack_bin(&e->packer, bytes.n);
    (void)msgpack_pack_bin_body(&e->packer, bytes.n ? bytes.p : "", bytes.n);
    return ERR_OK;
}

/* Neither a database nor JSON can hold what is no number. */
static enum err_code check_finite(const struct spot *spot, double value, enum err_code rc,
                                  struct err *err)
{
    if (isfinite(value))
        return ERR_OK;
    return spot_refuse(spot, rc, err, "%g where a finite number is expected", value);
}

static enum err_code encode_f64(struct encoder *e, const struct spot *spot, double value)
{
    enum err_code rc = check_finite(spot, value, ERR_LIMIT, e->err);

    if (!rc)
        (void)msgpack_pack_double(&e->packer, value);
    return rc;
}

static enum err_code encode_texts(struct encoder *e, const struct spot *spot,
                                  const struct field *field, struct field_list list)
{
    const struct view *texts = list.v;
    enum err_code rc = check_count(spot, list.n, field->most, ERR_LIMIT, e->err);

    if (rc)
        return rc;
    (void)msgpack_pack_array(&e->packer, list.n);
    for (size_t i = 0; i < list.n; i++) {
        struct spot here = {spot, NULL, i};

        rc = encode_text(e, &here, texts[i], field->most_each);
        if (rc)
            return rc;
    }
    e->objects += list.n;
    return ERR_OK;
}

static enum err_code encode_fields(struct encoder *e, const struct spot *spot,
                                   const struct shape *shape, const void *object);

static enum err_code encode_list(struct encoder *e, const struct spot *spot,
                                 const struct field *field, struct field_list list)
{
    const struct shape *shape = field->element;
    enum err_code rc = check_count(spot, list.n, field->most, ERR_LIMIT, e->err);

    if (rc)
        return rc;
    (void)msgpack_pack_array(&e->packer, list.n);
    for (size_t i = 0; i < list.n; i++) {
        struct spot here = {spot, NULL, i};

        (void)msgpack_pack_array(&e->packer, shape->n_fields);
        rc = encode_fields(e, &here, shape, (const char *)list.v + i * shape->size);
        if (rc)
            return rc;
    }
    e->objects += list.n;
    return ERR_OK;
}

static enum err_code encode_field(struct encoder *e, const struct spot *spot,
                                  const struct field *field, const void *at)
{
    switch (field->kind) {
    case FIELD_U32:
        (void)msgpack_pack_uint32(&e->packer, *(const uint32_t *)at);
        return ERR_OK;
    case FIELD_U64:
        (void)msgpack_pack_uint64(&e->packer, *(const uint64_t *)at);
        return ERR_OK;
    case FIELD_I64:
        (void)msgpack_pack_int64(&e->packer, *(const int64_t *)at);
        return ERR_OK;
    case FIELD_F64:
        return encode_f64(e, spot, *(const double *)at);
    case FIELD_BOOL:
        (void)(*(const bool *)at ? msgpack_pack_true(&e->packer) : msgpack_pack_false(&e->packer));
        return ERR_OK;
    case FIELD_TEXT:
        return encode_text(e, spot, *(const struct view *)at, field->most);
    case FIELD_BIN:
        return encode_bin(e, spot, *(const struct view *)at, field->most);
    case FIELD_TEXTS:
        return encode_texts(e, spot, field, field_list_at(at));
    case FIELD_LIST:
        return encode_list(e, spot, field, field_list_at(at));
    }
    abort();
}

static enum err_code encode_fields(struct encoder *e, const struct spot *spot,
                                   const struct shape *shape, const void *object)
{
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];
        struct spot here = {spot, field->name, 0};
        enum err_code rc = encode_field(e, &here, field, field_at(object, field));

        if (rc)
            return rc;
    }
    e->objects += shape->n_fields;
    return ERR_OK;
}

enum err_code msg_encode(const struct msg *msg, struct str *out, struct err *err)
{
    const struct shape *shape = shape_find(msg->type);
    struct encoder e = {.out = out, .objects = 2, .err = err};
    size_t before = out->n;
    struct spot top;
    enum err_code rc;

    if (!shape)
        abort(); /* ours, not a peer's */
    top = (struct spot){NULL, shape->name, 0};
    msgpack_packer_init(&e.packer, &e, encoder_write);
    (void)msgpack_pack_array(&e.packer, shape->n_fields + 1);
    (void)msgpack_pack_uint32(&e.packer, shape->number);
    rc = encode_fields(&e, &top, shape, &msg->u);
    if (!rc && e.full)
        rc = spot_refuse(&top, ERR_LIMIT, err, "over the maximum of %zu bytes", out->max);
    if (!rc && e.objects > SCAN_MAX_OBJECTS)
        rc = spot_refuse(&top, ERR_LIMIT, err, "%zu values, at most %d", e.objects,
                         SCAN_MAX_OBJECTS);
    if (rc)
        str_cut(out, before);
    return rc;
}

/* --- decoding --- */

struct msg_arena {
    msgpack_zone zone;
};

struct msg_arena *msg_arena_new(void)
{
    struct msg_arena *arena = xcalloc(1, sizeof *arena);

    if (!msgpack_zone_init(&arena->zone, MSGPACK_ZONE_CHUNK_SIZE))
        abort();
    return arena;
}

void msg_arena_free(struct msg_arena *arena)
{
    if (!arena)
        return;
    msgpack_zone_destroy(&arena->zone);
    free(arena);
}

struct decoder {
    msgpack_zone *zone;
    struct err *err;
};

/* Zeroed; n and size are bounded by the field's limit. */
static void *decoder_alloc(struct decoder *d, size_t n, size_t size)
{
    size_t slack = _Alignof(max_align_t) - 1; /* the zone aligns to pointers only */
    char *p = msgpack_zone_malloc(d->zone, n * size + slack);

    if (!p)
        abort();
    p += (_Alignof(max_align_t) - (uintptr_t)p % _Alignof(max_align_t)) % _Alignof(max_align_t);
    memset(p, 0, n * size);
    return p;
}

static enum err_code wrong_kind(struct decoder *d, const struct spot *spot, const char *expected,
                                const msgpack_object *value)
{
    static const char *const names[] = {
        [MSGPACK_OBJECT_NIL] = "nil",
        [MSGPACK_OBJECT_BOOLEAN] = "a boolean",
        [MSGPACK_OBJECT_POSITIVE_INTEGER] = "a number",
        [MSGPACK_OBJECT_NEGATIVE_INTEGER] = "a negative number",
        [MSGPACK_OBJECT_FLOAT64] = "a float",
        [MSGPACK_OBJECT_STR] = "a text",
        [MSGPACK_OBJECT_ARRAY] = "an array",
        [MSGPACK_OBJECT_FLOAT32] = "a float",
        [MSGPACK_OBJECT_BIN] = "binary data",
    };
    size_t type = (size_t)value->type;
    const char *found = type < sizeof names / sizeof names[0] ? names[type] : NULL;

    return spot_refuse(spot, ERR_PROTO, d->err, "%s where %s is expected",
                       found ? found : "something", expected);
}

static enum err_code decode_unsigned(struct decoder *d, const struct spot *spot,
                                     const msgpack_object *value, uint64_t most, uint64_t *out)
{
    if (value->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return wrong_kind(d, spot, "an unsigned number", value);
    if (value->via.u64 > most)
        return spot_refuse(spot, ERR_PROTO, d->err, "%" PRIu64 ", at most %" PRIu64, value->via.u64,
                           most);
    *out = value->via.u64;
    return ERR_OK;
}

static enum err_code decode_i64(struct decoder *d, const struct spot *spot,
                                const msgpack_object *value, int64_t *out)
{
    uint64_t positive = 0;
    enum err_code rc;

    if (value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER) {
        *out = value->via.i64;
        return ERR_OK;
    }
    rc = decode_unsigned(d, spot, value, INT64_MAX, &positive);
    if (!rc)
        *out = (int64_t)positive;
    return rc;
}

static enum err_code decode_f64(struct decoder *d, const struct spot *spot,
                                const msgpack_object *value, double *out)
{
    switch (value->type) {
    case MSGPACK_OBJECT_FLOAT64:
    case MSGPACK_OBJECT_FLOAT32:
        *out = value->via.f64;
        return check_finite(spot, *out, ERR_PROTO, d->err);
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        *out = (double)value->via.u64;
        return ERR_OK;
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        *out = (double)value->via.i64;
        return ERR_OK;
    default:
        return wrong_kind(d, spot, "a number", value);
    }
}

static enum err_code decode_bool(struct decoder *d, const struct spot *spot,
                                 const msgpack_object *value, bool *out)
{
    if (value->type != MSGPACK_OBJECT_BOOLEAN)
        return wrong_kind(d, spot, "a boolean", value);
    *out = value->via.boolean;
    return ERR_OK;
}

static enum err_code decode_text(struct decoder *d, const struct spot *spot,
                                 const msgpack_object *value, size_t most, struct view *out)
{
    if (value->type != MSGPACK_OBJECT_STR)
        return wrong_kind(d, spot, "a text", value);
    *out = view_bytes(value->via.str.ptr, value->via.str.size);
    return check_bytes(spot, "text", out->n, most, ERR_PROTO, d->err);
}

static enum err_code decode_bin(struct decoder *d, const struct spot *spot,
                                const msgpack_object *value, size_t most, struct view *out)
{
    if (value->type != MSGPACK_OBJECT_BIN)
        return wrong_kind(d, spot, "binary data", value);
    *out = view_bytes(value->via.bin.ptr, value->via.bin.size);
    return check_bytes(spot, "data", out->n, most, ERR_PROTO, d->err);
}

/* Makes room for the elements of a TEXTS or LIST at `at`; *items is NULL when there are none. */
static enum err_code decode_array(struct decoder *d, const struct spot *spot,
                                  const msgpack_object *value, const struct field *field,
                                  size_t size, void *at, void **items)
{
    struct field_list list;
    enum err_code rc;

    *items = NULL;
    if (value->type != MSGPACK_OBJECT_ARRAY)
        return wrong_kind(d, spot, "an array", value);
    rc = check_count(spot, value->via.array.size, field->most, ERR_PROTO, d->err);
    if (rc || value->via.array.size == 0)
        return rc;
    *items = decoder_alloc(d, value->via.array.size, size);
    list = (struct field_list){*items, value->via.array.size};
    memcpy(at, &list, sizeof list);
    return ERR_OK;
}

static enum err_code decode_texts(struct decoder *d, const struct spot *spot,
                                  const msgpack_object *value, const struct field *field, void *at)
{
    void *items;
    enum err_code rc = decode_array(d, spot, value, field, sizeof(struct view), at, &items);

    for (size_t i = 0; !rc && items && i < value->via.array.size; i++) {
        struct spot here = {spot, NULL, i};

        rc = decode_text(d, &here, &value->via.array.ptr[i], field->most_each,
                         (struct view *)items + i);
    }
    return rc;
}

static enum err_code decode_fields(struct decoder *d, const struct spot *spot,
                                   const struct shape *shape, const msgpack_object *values,
                                   size_t n, void *object);

static enum err_code decode_list(struct decoder *d, const struct spot *spot,
                                 const msgpack_object *value, const struct field *field, void *at)
{
    const struct shape *shape = field->element;
    void *items;
    enum err_code rc = decode_array(d, spot, value, field, shape->size, at, &items);

    for (size_t i = 0; !rc && items && i < value->via.array.size; i++) {
        const msgpack_object *item = &value->via.array.ptr[i];
        struct spot here = {spot, NULL, i};

        if (item->type != MSGPACK_OBJECT_ARRAY)
            return wrong_kind(d, &here, "an array", item);
        rc = decode_fields(d, &here, shape, item->via.array.ptr, item->via.array.size,
                           (char *)items + i * shape->size);
    }
    return rc;
}

static enum err_code decode_u32(struct decoder *d, const struct spot *spot,
                                const msgpack_object *value, uint32_t *out)
{
    uint64_t wide = 0;
    enum err_code rc = decode_unsigned(d, spot, value, UINT32_MAX, &wide);

    if (!rc)
        *out = (uint32_t)wide;
    return rc;
}

static enum err_code decode_field(struct decoder *d, const struct spot *spot,
                                  const msgpack_object *value, const struct field *field, void *at)
{
    switch (field->kind) {
    case FIELD_U32:
        return decode_u32(d, spot, value, at);
    case FIELD_U64:
        return decode_unsigned(d, spot, value, UINT64_MAX, at);
    case FIELD_I64:
        return decode_i64(d, spot, value, at);
    case FIELD_F64:
        return decode_f64(d, spot, value, at);
    case FIELD_BOOL:
        return decode_bool(d, spot, value, at);
    case FIELD_TEXT:
        return decode_text(d, spot, value, field->most, at);
    case FIELD_BIN:
        return decode_bin(d, spot, value, field->most, at);
    case FIELD_TEXTS:
        return decode_texts(d, spot, value, field, at);
    case FIELD_LIST:
        return decode_list(d, spot, value, field, at);
    }
    abort();
}

/* object is zeroed, so a field that is missing has its default. */
static enum err_code decode_fields(struct decoder *d, const struct spot *spot,
                                   const struct shape *shape, const msgpack_object *values,
                                   size_t n, void *object)
{
    if (n < shape->required)
        return spot_refuse(spot, ERR_PROTO, d->err, "%zu fields, at least %zu", n, shape->required);
    for (size_t i = 0; i < n && i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];
        struct spot here = {spot, field->name, 0};
        enum err_code rc =
            decode_field(d, &here, &values[i], field, (char *)object + field->offset);

        if (rc)
            return rc;
    }
    return ERR_OK;
}

static enum err_code unpack(struct decoder *d, struct view body, msgpack_object *value)
{
    size_t at = 0;
    enum err_code rc = scan_value(body, d->err);

    if (rc)
        return rc;
    msgpack_zone_clear(d->zone);
    if (msgpack_unpack(body.p, body.n, &at, d->zone, value) != MSGPACK_UNPACK_SUCCESS)
        return err_set(d->err, ERR_PROTO, "not msgpack");
    if (value->type != MSGPACK_OBJECT_ARRAY || value->via.array.size == 0)
        return err_set(d->err, ERR_PROTO, "a message is an array that begins with its number");
    return ERR_OK;
}

static const struct shape *shape_of(const msgpack_object *number)
{
    if (number->type != MSGPACK_OBJECT_POSITIVE_INTEGER || number->via.u64 > UINT32_MAX)
        return NULL;
    return shape_find((unsigned)number->via.u64);
}

enum err_code msg_decode(struct msg_arena *arena, struct view body, struct msg *out,
                         struct err *err)
{
    struct decoder d = {&arena->zone, err};
    msgpack_object value;
    const struct shape *shape;
    struct msg msg;
    struct spot top;
    enum err_code rc = unpack(&d, body, &value);

    if (rc)
        return rc;
    shape = shape_of(&value.via.array.ptr[0]);
    if (!shape)
        return err_set(err, ERR_PROTO, "an unknown message number");
    memset(&msg, 0, sizeof msg);
    msg.type = (enum msg_type)shape->number;
    top = (struct spot){NULL, shape->name, 0};
    rc = decode_fields(&d, &top, shape, value.via.array.ptr + 1, value.via.array.size - 1, &msg.u);
    if (!rc)
        *out = msg;
    return rc;
}
