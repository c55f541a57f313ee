/* yamltree's errors, and the reading of nodes as values: what needs no libyaml. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/base/yamltree.h"

enum { SENTENCE_MAX = 2048, SHOWN_MAX = 60, LINE_MAX_BYTES = 32 * 1024 };

void yaml_errors_release(struct yaml_errors *errors)
{
    for (size_t i = 0; i < errors->v.n; i++)
        free(errors->v.v[i]);
    vec_release(&errors->v);
    errors->more = false;
}

/* Takes the line over. It ends up on terminals and in logs, and quotes what a file says: nothing in
 * it may move the cursor or look like another line. */
static void add_error(struct yaml_errors *errors, char *line)
{
    struct str clean = STR_INIT(LINE_MAX_BYTES);

    if (errors->v.n < YAML_MAX_ERRORS) {
        text_escape(&clean, view_of(line), strlen(line));
        vec_push(&errors->v, str_detach(&clean));
    } else {
        errors->more = true;
    }
    free(line);
}

void yaml_error(struct yaml_errors *errors, const struct yaml_node *node, const char *fmt, ...)
{
    char sentence[SENTENCE_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    if (node)
        yaml_error_at(errors, node->file, node->line, node->column, "%s", sentence);
    else
        add_error(errors, xstrdup(sentence));
}

void yaml_error_at(struct yaml_errors *errors, const char *file, unsigned line, unsigned column,
                   const char *fmt, ...)
{
    char sentence[SENTENCE_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    if (line > 0)
        add_error(errors, xasprintf("%s:%u:%u: %s", file, line, column, sentence));
    else
        add_error(errors, xasprintf("%s: %s", file, sentence));
}

const struct yaml_node *yaml_get(const struct yaml_node *map, const char *key)
{
    if (!map || map->kind != YAML_MAP)
        return NULL;
    for (size_t i = 0; i < map->n; i++) {
        if (view_is(map->entries[i].key->text, key))
            return map->entries[i].value;
    }
    return NULL;
}

const char *yaml_kind_name(const struct yaml_node *node)
{
    static const char *const names[] = {
        [YAML_NULL] = "nothing",
        [YAML_SCALAR] = "text",
        [YAML_LIST] = "a list",
        [YAML_MAP] = "a mapping",
    };

    return names[node ? node->kind : YAML_NULL];
}

/* Whether the node is a scalar; reported when not. */
static bool expect_scalar(const struct yaml_node *node, struct yaml_errors *errors,
                          const char *expected)
{
    if (node->kind == YAML_SCALAR)
        return true;
    yaml_error(errors, node, "%s: expected %s", yaml_kind_name(node), expected);
    return false;
}

bool yaml_read_text(const struct yaml_node *node, struct yaml_errors *errors, char **out)
{
    if (!expect_scalar(node, errors, "text"))
        return false;
    if (memchr(node->text.p, '\0', node->text.n)) {
        yaml_error(errors, node, "text with a NUL byte: expected text without");
        return false;
    }
    free(*out);
    *out = view_dup(node->text);
    return true;
}

bool yaml_read_bool(const struct yaml_node *node, struct yaml_errors *errors, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    struct str shown = STR_INIT(4 * SHOWN_MAX);

    if (!expect_scalar(node, errors, "true or false"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (node->text.n == strlen(words[i]) &&
            strncasecmp(node->text.p, words[i], node->text.n) == 0) {
            *out = i % 2 == 1;
            return true;
        }
    }
    text_escape(&shown, node->text, SHOWN_MAX);
    yaml_error(errors, node, "'%s' is neither true nor false: expected true or false",
               str_cstr(&shown));
    str_release(&shown);
    return false;
}

bool yaml_read_u64(const struct yaml_node *node, struct yaml_errors *errors, uint64_t least,
                   uint64_t most, uint64_t *out)
{
    struct err err = ERR_INIT;

    if (!expect_scalar(node, errors, "a whole number"))
        return false;
    /* Octal to some readers of YAML, decimal to others. */
    if (node->text.n > 1 && node->text.p[0] == '0') {
        yaml_error(errors, node, "a number with a leading zero: expected one without");
        return false;
    }
    if (text_u64(node->text, least, most, out, &err) == ERR_OK)
        return true;
    yaml_error(errors, node, "%s", err.msg);
    return false;
}

bool yaml_read_duration(const struct yaml_node *node, struct yaml_errors *errors, uint64_t *ms)
{
    struct err err = ERR_INIT;

    if (!expect_scalar(node, errors, "a duration, for example 30s"))
        return false;
    if (text_duration(node->text, ms, &err) == ERR_OK)
        return true;
    yaml_error(errors, node, "%s", err.msg);
    return false;
}

bool yaml_read_size(const struct yaml_node *node, struct yaml_errors *errors, uint64_t *bytes)
{
    struct err err = ERR_INIT;

    if (!expect_scalar(node, errors, "a size, for example 200MiB"))
        return false;
    if (text_size(node->text, bytes, &err) == ERR_OK)
        return true;
    yaml_error(errors, node, "%s", err.msg);
    return false;
}

/* "unknown <what> 'given'<where>: did you mean ...?", or the words to choose from. */
static void report_unknown(struct yaml_errors *errors, const struct yaml_node *node,
                           const char *what, const char *where, const char *const *words, size_t n)
{
    const char *nearest = text_nearest(node->text, words, n);
    struct str sentence = STR_INIT(64 << 10);

    str_printf(&sentence, "unknown %s '", what);
    text_escape(&sentence, node->text, SHOWN_MAX);
    str_printf(&sentence, "'%s: ", where);
    if (nearest) {
        str_printf(&sentence, "did you mean '%s'?", nearest);
    } else {
        str_put(&sentence, n > 1 ? "expected one of " : "expected ");
        for (size_t i = 0; i < n; i++)
            str_printf(&sentence, "%s%s", i > 0 ? ", " : "", words[i]);
        str_put(&sentence, n == 0 ? "none" : "");
    }
    yaml_error(errors, node, "%s", str_cstr(&sentence));
    str_release(&sentence);
}

static bool find_word(struct view text, const char *const *words, size_t n, size_t *index)
{
    for (size_t i = 0; i < n; i++) {
        if (view_is(text, words[i])) {
            *index = i;
            return true;
        }
    }
    return false;
}

bool yaml_read_word(const struct yaml_node *node, struct yaml_errors *errors,
                    const char *const *words, size_t n, size_t *index)
{
    if (!expect_scalar(node, errors, "a word"))
        return false;
    if (find_word(node->text, words, n, index))
        return true;
    report_unknown(errors, node, "word", "", words, n);
    return false;
}

bool yaml_check_keys(const struct yaml_node *node, struct yaml_errors *errors, const char *what,
                     const char *const *words, size_t n)
{
    char *where;
    bool good = true;
    size_t ignored;

    if (node->kind != YAML_MAP) {
        yaml_error(errors, node, "%s: expected %s, a mapping", yaml_kind_name(node), what);
        return false;
    }
    where = xasprintf(" in %s", what);
    for (size_t i = 0; i < node->n; i++) {
        if (find_word(node->entries[i].key->text, words, n, &ignored))
            continue;
        report_unknown(errors, node->entries[i].key, "key", where, words, n);
        good = false;
    }
    free(where);
    return good;
}
