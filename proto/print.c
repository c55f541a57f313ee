#include <inttypes.h>
#include <stdlib.h>

#include "common/base/text.h"
#include "proto/codec.h"
#include "proto/shape.h"

enum { PRINT_TEXT_BYTES = 60, PRINT_LIST_ITEMS = 4 };

static void print_text(struct view text, struct str *out)
{
    str_putc(out, '"');
    text_escape(out, text, PRINT_TEXT_BYTES);
    str_put(out, text.n > PRINT_TEXT_BYTES ? "...\"" : "\"");
}

static void print_fields(const struct shape *shape, const void *object, struct str *out);

static void print_list(const struct field *field, struct field_list list, struct str *out)
{
    str_putc(out, '[');
    for (size_t i = 0; i < list.n && i < PRINT_LIST_ITEMS; i++) {
        str_put(out, i ? ", " : "");
        if (field->kind == FIELD_TEXTS) {
            print_text(((const struct view *)list.v)[i], out);
            continue;
        }
        str_putc(out, '{');
        print_fields(field->element, (const char *)list.v + i * field->element->size, out);
        str_putc(out, '}');
    }
    if (list.n > PRINT_LIST_ITEMS)
        str_printf(out, ", ... %zu in all", list.n);
    str_putc(out, ']');
}

static void print_field(const struct field *field, const void *at, struct str *out)
{
    switch (field->kind) {
    case FIELD_U32:
        str_printf(out, "%" PRIu32, *(const uint32_t *)at);
        return;
    case FIELD_U64:
        str_printf(out, "%" PRIu64, *(const uint64_t *)at);
        return;
    case FIELD_I64:
        str_printf(out, "%" PRId64, *(const int64_t *)at);
        return;
    case FIELD_F64:
        str_printf(out, "%.17g", *(const double *)at);
        return;
    case FIELD_BOOL:
        str_put(out, *(const bool *)at ? "true" : "false");
        return;
    case FIELD_TEXT:
        print_text(*(const struct view *)at, out);
        return;
    case FIELD_BIN: /* bulk, nonces and codes: the length tells enough, and nothing leaks */
        str_printf(out, "<%zu bytes>", ((const struct view *)at)->n);
        return;
    case FIELD_TEXTS:
    case FIELD_LIST:
        print_list(field, field_list_at(at), out);
        return;
    }
    abort();
}

static void print_fields(const struct shape *shape, const void *object, struct str *out)
{
    for (size_t i = 0; i < shape->n_fields; i++) {
        const struct field *field = &shape->fields[i];

        str_printf(out, "%s%s=", i ? " " : "", field->name);
        print_field(field, field_at(object, field), out);
    }
}

void msg_print(const struct msg *msg, struct str *out)
{
    const struct shape *shape = shape_find(msg->type);

    str_put(out, shape ? shape->name : "?");
    if (!shape || shape->n_fields == 0)
        return;
    str_putc(out, ' ');
    print_fields(shape, &msg->u, out);
}
