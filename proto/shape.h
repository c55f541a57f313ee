/*
 * shape: what messages.def says, as tables that code can walk. Internal to proto; the encoder,
 * decoder, printer and describer are loops over these.
 */
#ifndef TAILRACE_PROTO_SHAPE_H
#define TAILRACE_PROTO_SHAPE_H

#include <string.h>

#include "proto/codec.h"

enum field_kind {
    FIELD_U32,
    FIELD_U64,
    FIELD_I64,
    FIELD_F64,
    FIELD_BOOL,
    FIELD_TEXT,
    FIELD_BIN,
    FIELD_TEXTS,
    FIELD_LIST,
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;               /* in the C struct */
    size_t most;                 /* bytes of TEXT and BIN, elements of TEXTS and LIST */
    size_t most_each;            /* TEXTS: bytes of each */
    const struct shape *element; /* LIST */
};

/* A message, a record, or a struct inside one (number 0). */
struct shape {
    const char *name;
    unsigned number;
    enum msg_from from;
    enum msg_lane lane;
    size_t required; /* so many fields must be there */
    size_t size;     /* of the C struct */
    const struct field *fields;
    size_t n_fields;
};

/* How TEXTS and LIST lie in every struct: an array and its length. */
struct field_list {
    const void *v;
    size_t n;
};

/* By copy: the struct's own pointer type differs from ours. */
static inline struct field_list field_list_at(const void *at)
{
    struct field_list list;

    memcpy(&list, at, sizeof list);
    return list;
}

/* NULL for a number that is none. */
const struct shape *shape_find(unsigned number);
const char *field_kind_name(enum field_kind kind);

static inline const void *field_at(const void *object, const struct field *field)
{
    return (const char *)object + field->offset;
}

#endif
