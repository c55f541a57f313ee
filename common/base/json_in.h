/*
 * Reading JSON, strictly: duplicate keys, bad UTF-8, trailing bytes and depth over 64 are refused
 * with line and column. A parsed document is a tree of `struct json`; every accessor borrows from
 * the document.
 */
#ifndef TAILRACE_COMMON_BASE_JSON_IN_H
#define TAILRACE_COMMON_BASE_JSON_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"

struct json; /* one value */

/* The caller frees *out (json_free). ERR_CONFIG: "line 3, column 7: ...". */
enum err_code json_parse(struct view text, struct json **out, struct err *err) TAILRACE_MUST_CHECK;
void json_free(struct json *document); /* NULL allowed */

/* All accept NULL and answer as for an absent value. */
struct json *json_get(const struct json *object, const char *key); /* NULL when absent */
bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
bool json_is_null(const struct json *value); /* absent or null */
size_t json_len(const struct json *array);
struct json *json_at(const struct json *array, size_t index);
const char *json_text(const struct json *value);                /* NULL when not a string */
double json_number(const struct json *value, double otherwise); /* integers and reals */
int64_t json_int(const struct json *value, int64_t otherwise);
bool json_truth(const struct json *value, bool otherwise);
/* Conveniences: json_text(json_get(...)) and so on. */
const char *json_get_text(const struct json *object, const char *key);
int64_t json_get_int(const struct json *object, const char *key, int64_t otherwise);
/* Object walk: for (void *i = json_first(o); i; i = json_next(o, i)) json_iter_key(i),
 * json_iter_value(i) */
void *json_first(const struct json *object);
void *json_next(const struct json *object, void *iter);
const char *json_iter_key(void *iter);
struct json *json_iter_value(void *iter);
/* The value as JSON text; the caller frees. */
char *json_dump(const struct json *value);

#endif
