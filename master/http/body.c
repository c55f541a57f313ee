#include "master/http/body.h"

#include <string.h>

#include "common/base/json_in.h"
#include "common/base/mem.h"
#include "common/base/text.h"

struct field {
    const char *key;
    char **to;   /* NULL: read by the caller */
    bool needed; /* and not empty */
};

static void list_keys(const struct field *fields, size_t n, struct str *out)
{
    for (size_t i = 0; i < n; i++)
        str_printf(out, "%s%s", i ? ", " : "", fields[i].key);
}

static enum err_code refuse_key(const char *key, const struct field *fields, size_t n,
                                struct err *err)
{
    struct str known = STR_INIT(1024);

    list_keys(fields, n, &known);
    (void)err_set(err, ERR_CONFIG, "unknown key \"%.80s\": expected %s", key,
                  n ? str_cstr(&known) : "none");
    str_release(&known);
    return ERR_CONFIG;
}

static enum err_code check_keys(const struct json *object, const struct field *fields, size_t n,
                                struct err *err)
{
    for (void *it = json_first(object); it; it = json_next(object, it)) {
        const char *key = json_iter_key(it);
        size_t i = 0;

        while (i < n && strcmp(fields[i].key, key) != 0)
            i++;
        if (i == n)
            return refuse_key(key, fields, n, err);
    }
    return ERR_OK;
}

static enum err_code read_text(const struct json *object, const struct field *field,
                               struct err *err)
{
    const struct json *value = json_get(object, field->key);
    const char *text = json_text(value);

    if (!text && !json_is_null(value))
        return err_set(err, ERR_CONFIG, "%s: expected a text", field->key);
    if (field->needed && (!text || !*text))
        return err_set(err, ERR_CONFIG, "%s is missing", field->key);
    if (!text || !*text)
        return ERR_OK;
    if (strlen(text) > BODY_TEXT_MAX)
        return err_set(err, ERR_LIMIT, "%s: a text of %zu bytes, at most %d", field->key,
                       strlen(text), BODY_TEXT_MAX);
    *field->to = xstrdup(text);
    return ERR_OK;
}

/* Reads the body into the fields; *out is the document, NULL for an empty body. */
static enum err_code read_body(struct view body, const struct field *fields, size_t n,
                               struct json **out, struct err *err)
{
    struct json *document = NULL;
    enum err_code rc = ERR_OK;

    if (body.n > 0) {
        rc = json_parse(body, &document, err);
        if (rc)
            err_prefix(err, "the body is not JSON");
        else if (!json_is_object(document))
            rc = err_set(err, ERR_CONFIG, "the body is not an object");
    }
    if (rc == ERR_OK && document)
        rc = check_keys(document, fields, n, err);
    for (size_t i = 0; rc == ERR_OK && i < n; i++) {
        if (fields[i].to)
            rc = read_text(document, &fields[i], err);
    }
    if (rc) {
        json_free(document);
        document = NULL;
    }
    *out = document;
    return rc;
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static enum err_code read_priority(const struct json *value, struct command *command,
                                   struct err *err)
{
    const char *word = json_text(value);

    if (json_is_null(value))
        return ERR_OK;
    command->has_priority = true;
    if (word && priority_of_name(word, &command->priority))
        return ERR_OK;
    return err_set(err, ERR_CONFIG, "priority: expected high, normal or low");
}

enum err_code body_force(struct view body, struct command *command, struct err *err)
{
    const struct field fields[] = {
        {"builder", &command->name, true},       {"branch", &command->branch, false},
        {"revision", &command->revision, false}, {"reason", &command->reason, false},
        {"author", &command->author, false},     {"priority", NULL, false},
    };
    struct json *document;
    enum err_code rc = read_body(body, fields, COUNT(fields), &document, err);

    if (rc == ERR_OK)
        rc = read_priority(json_get(document, "priority"), command, err);
    json_free(document);
    return rc;
}

static enum err_code read_files(const struct json *list, text_list *files, struct err *err)
{
    if (json_is_null(list))
        return ERR_OK;
    if (!json_is_array(list))
        return err_set(err, ERR_CONFIG, "files: expected a list of texts");
    if (json_len(list) > BODY_FILES_MAX)
        return err_set(err, ERR_LIMIT, "files: %zu of them, at most %d", json_len(list),
                       BODY_FILES_MAX);
    for (size_t i = 0; i < json_len(list); i++) {
        const char *name = json_text(json_at(list, i));

        if (!name)
            return err_set(err, ERR_CONFIG, "files: entry %zu is not a text", i + 1);
        if (strlen(name) > BODY_TEXT_MAX)
            return err_set(err, ERR_LIMIT, "files: a name of %zu bytes, at most %d", strlen(name),
                           BODY_TEXT_MAX);
        vec_push(files, xstrdup(name));
    }
    return ERR_OK;
}

enum err_code body_change(struct view body, struct command *command, struct err *err)
{
    struct change_info *asked = &command->change_asked;
    const struct field fields[] = {
        {"project", &asked->project, true},   {"branch", &asked->branch, true},
        {"revision", &asked->revision, true}, {"author", &asked->author, false},
        {"comment", &asked->comment, false},  {"files", NULL, false},
    };
    struct json *document;
    enum err_code rc = read_body(body, fields, COUNT(fields), &document, err);

    if (rc == ERR_OK)
        rc = read_files(json_get(document, "files"), &asked->files, err);
    json_free(document);
    return rc;
}

enum err_code body_reason(struct view body, struct command *command, struct err *err)
{
    const struct field fields[] = {{"reason", &command->reason, false}};
    struct json *document;
    enum err_code rc = read_body(body, fields, COUNT(fields), &document, err);

    json_free(document);
    return rc;
}

enum err_code body_none(struct view body, struct err *err)
{
    struct json *document;
    enum err_code rc = read_body(body, NULL, 0, &document, err);

    json_free(document);
    return rc;
}

enum err_code body_idempotency(const char *key, struct command *command, struct err *err)
{
    if (!key)
        return ERR_OK;
    if (!*key || strlen(key) > BODY_KEY_MAX)
        return err_set(err, ERR_CONFIG, "Idempotency-Key: expected 1 to %d characters",
                       BODY_KEY_MAX);
    command->idempotency_key = xstrdup(key);
    return ERR_OK;
}
