#include <jansson.h>
/* jansson has macros of these names; here they are our functions. */
#undef json_is_object
#undef json_is_array
#undef json_is_null

#include "common/base/json_in.h"

#include <stdlib.h>

#include "common/base/mem.h"
#include "common/base/text.h"

enum { MAX_DEPTH = 64 };

/* A struct json is jansson's json_t under another name: only this file knows. */
static json_t *unwrap(const struct json *value)
{
    return (json_t *)(uintptr_t)value;
}

static struct json *wrap(json_t *value)
{
    return (struct json *)value;
}

/* jansson's own limit, 2048, is compiled in; so the depth is checked before it reads anything. */
static enum err_code check_depth(struct view text, struct err *err)
{
    size_t line = 1;
    size_t line_begin = 0;
    unsigned depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (c == '\n') {
            line++;
            line_begin = i + 1;
            in_string = false; /* an error that jansson will report */
        } else if (in_string) {
            if (c == '\\' && i + 1 < text.n && text.p[i + 1] != '\n')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > MAX_DEPTH)
                return err_set(err, ERR_CONFIG,
                               "line %zu, column %zu: nested deeper than %d levels", line,
                               i - line_begin + 1, MAX_DEPTH);
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return ERR_OK;
}

enum err_code json_parse(struct view text, struct json **out, struct err *err)
{
    json_error_t problem;
    struct str sentence = STR_INIT(4 * JSON_ERROR_TEXT_LENGTH);
    json_t *root;

    if (check_depth(text, err) != ERR_OK)
        return ERR_CONFIG;
    root = json_loadb(text.n ? text.p : "", text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                      &problem);
    if (root) {
        *out = wrap(root);
        return ERR_OK;
    }
    /* It quotes the input, which may hold anything. */
    text_escape(&sentence, view_of(problem.text), JSON_ERROR_TEXT_LENGTH);
    (void)err_set(err, ERR_CONFIG, "line %d, column %d: %s", problem.line < 1 ? 1 : problem.line,
                  problem.column < 1 ? 1 : problem.column, str_cstr(&sentence));
    str_release(&sentence);
    return ERR_CONFIG;
}

void json_free(struct json *document)
{
    json_decref(unwrap(document));
}

struct json *json_get(const struct json *object, const char *key)
{
    return wrap(json_object_get(unwrap(object), key));
}

bool json_is_object(const struct json *value)
{
    return value && json_typeof(unwrap(value)) == JSON_OBJECT;
}

bool json_is_array(const struct json *value)
{
    return value && json_typeof(unwrap(value)) == JSON_ARRAY;
}

bool json_is_null(const struct json *value)
{
    return !value || json_typeof(unwrap(value)) == JSON_NULL;
}

size_t json_len(const struct json *array)
{
    return json_array_size(unwrap(array));
}

struct json *json_at(const struct json *array, size_t index)
{
    return wrap(json_array_get(unwrap(array), index));
}

const char *json_text(const struct json *value)
{
    return json_string_value(unwrap(value));
}

double json_number(const struct json *value, double otherwise)
{
    return json_is_number(unwrap(value)) ? json_number_value(unwrap(value)) : otherwise;
}

int64_t json_int(const struct json *value, int64_t otherwise)
{
    static const double exact = 9007199254740992.0; /* 2^53 */
    double real;

    if (json_is_integer(unwrap(value)))
        return json_integer_value(unwrap(value));
    if (!json_is_real(unwrap(value)))
        return otherwise;
    /* 1e3 and 12.0 are whole numbers in JSON, whatever type the parser gave them. */
    real = json_real_value(unwrap(value));
    if (real < -exact || real > exact || (double)(int64_t)real != real)
        return otherwise;
    return (int64_t)real;
}

bool json_truth(const struct json *value, bool otherwise)
{
    return json_is_boolean(unwrap(value)) ? json_is_true(unwrap(value)) : otherwise;
}

const char *json_get_text(const struct json *object, const char *key)
{
    return json_text(json_get(object, key));
}

int64_t json_get_int(const struct json *object, const char *key, int64_t otherwise)
{
    return json_int(json_get(object, key), otherwise);
}

void *json_first(const struct json *object)
{
    return json_object_iter(unwrap(object));
}

void *json_next(const struct json *object, void *iter)
{
    return json_object_iter_next(unwrap(object), iter);
}

const char *json_iter_key(void *iter)
{
    return json_object_iter_key(iter);
}

struct json *json_iter_value(void *iter)
{
    return wrap(json_object_iter_value(iter));
}

char *json_dump(const struct json *value)
{
    char *text = value ? json_dumps(unwrap(value), JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

    return text ? text : xstrdup("null");
}
