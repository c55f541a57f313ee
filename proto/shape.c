#include "proto/shape.h"

/* Every shape has a name before any field refers to it. */
#define STRUCT(name, required)                            static const struct shape name##_shape;
#define MESSAGE(number, NAME, name, from, lane, required) static const struct shape name##_shape;
#define RECORD(number, NAME, name, required)              static const struct shape name##_shape;
#include "proto/messages.def"

/* clang-format off */
#define STRUCT(name, required)                            static const struct field name##_fields[] = {
#define MESSAGE(number, NAME, name, from, lane, required) static const struct field name##_fields[] = {
#define RECORD(number, NAME, name, required)              static const struct field name##_fields[] = {
#define END(name)                                         };
#define PLAIN(s, field, kind, most) {#field, kind, offsetof(struct msg_##s, field), most, 0, NULL},
#define U32(s, field)        PLAIN(s, field, FIELD_U32, 0)
#define U64(s, field)        PLAIN(s, field, FIELD_U64, 0)
#define I64(s, field)        PLAIN(s, field, FIELD_I64, 0)
#define F64(s, field)        PLAIN(s, field, FIELD_F64, 0)
#define BOOL(s, field)       PLAIN(s, field, FIELD_BOOL, 0)
#define TEXT(s, field, most) PLAIN(s, field, FIELD_TEXT, most)
#define BIN(s, field, most)  PLAIN(s, field, FIELD_BIN, most)
#define TEXTS(s, field, most_n, most) \
    {#field, FIELD_TEXTS, offsetof(struct msg_##s, field), most_n, most, NULL},
#define LIST(s, field, element, most) \
    {#field, FIELD_LIST, offsetof(struct msg_##s, field), most, 0, &element##_shape},
#include "proto/messages.def"
/* clang-format on */

#define SHAPE(name, wire_name, number, from, lane, required)                                       \
    static const struct shape name##_shape = {                                                     \
        wire_name,     number,                                                                     \
        from,          lane,                                                                       \
        required,      sizeof(struct msg_##name),                                                  \
        name##_fields, sizeof name##_fields / sizeof name##_fields[0]};
#define STRUCT(name, required) SHAPE(name, #name, 0, MSG_FROM_BOTH, MSG_LANE_CONTROL, required)
#define MESSAGE(number, NAME, name, from, lane, required)                                          \
    SHAPE(name, #NAME, number, MSG_FROM_##from, MSG_LANE_##lane, required)
#define RECORD(number, NAME, name, required)                                                       \
    SHAPE(name, #NAME, number, MSG_FROM_SLAVE, MSG_LANE_RECORD, required)
#include "proto/messages.def"

static const struct shape *const by_number[] = {
#define MESSAGE(number, NAME, name, from, lane, required) [number] = &name##_shape,
#define RECORD(number, NAME, name, required)              [number] = &name##_shape,
#include "proto/messages.def"
};

static const struct shape *const structs[] = {
#define STRUCT(name, required) &name##_shape,
#include "proto/messages.def"
};

const struct shape *shape_find(unsigned number)
{
    return number < sizeof by_number / sizeof by_number[0] ? by_number[number] : NULL;
}

const char *field_kind_name(enum field_kind kind)
{
    static const char *const names[] = {
        [FIELD_U32] = "U32", [FIELD_U64] = "U64",     [FIELD_I64] = "I64",
        [FIELD_F64] = "F64", [FIELD_BOOL] = "BOOL",   [FIELD_TEXT] = "TEXT",
        [FIELD_BIN] = "BIN", [FIELD_TEXTS] = "TEXTS", [FIELD_LIST] = "LIST",
    };

    return names[kind];
}

const char *msg_name(enum msg_type type)
{
    const struct shape *shape = shape_find(type);

    return shape ? shape->name : "?";
}

enum msg_from msg_sender(enum msg_type type)
{
    const struct shape *shape = shape_find(type);

    return shape ? shape->from : MSG_FROM_SLAVE;
}

enum msg_lane msg_lane(enum msg_type type)
{
    const struct shape *shape = shape_find(type);

    return shape ? shape->lane : MSG_LANE_RECORD;
}

static void describe(const struct shape *shape, msg_describe_fn fn, void *arg)
{
    struct msg_description d = {
        .owner = shape->name,
        .number = shape->number,
        .required = shape->required,
        .from = shape->from,
        .lane = shape->lane,
    };

    fn(arg, &d);
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];

        d.field = field->name;
        d.kind = field_kind_name(field->kind);
        d.most = field->most;
        d.most_each = field->most_each;
        d.element = field->element ? field->element->name : NULL;
        fn(arg, &d);
    }
}

void msg_describe(msg_describe_fn fn, void *arg)
{
    for (size_t i = 0; i < sizeof structs / sizeof structs[0]; i++)
        describe(structs[i], fn, arg);
    for (size_t i = 0; i < sizeof by_number / sizeof by_number[0]; i++) {
        if (by_number[i])
            describe(by_number[i], fn, arg);
    }
}
