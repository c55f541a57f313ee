#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/ident.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "master/config_private.h"

static const char *const top_keys[] = {"master",   "slaves",   "pools",
                                       "projects", "builders", "include"};
static const char *const section_names[SECTION_COUNT] = {"slaves", "pools", "projects", "builders"};

char *load_path(const struct yaml_node *node, const char *path)
{
    char *dir = fs_dirname(node->file);
    char resolved[PATH_MAX];
    char *joined = fs_join(realpath(dir, resolved) ? resolved : dir, path);

    free(dir);
    return joined;
}

bool load_texts(struct loader *loader, const struct yaml_node *node, text_list *out)
{
    char *text = NULL;

    if (node->kind == YAML_SCALAR) {
        if (yaml_read_text(node, loader->errors, &text))
            vec_push(out, text);
        return text != NULL;
    }
    if (node->kind != YAML_LIST) {
        yaml_error(loader->errors, node, "%s: expected text or a list of texts",
                   yaml_kind_name(node));
        return false;
    }
    for (size_t i = 0; i < node->n; i++) {
        text = NULL;
        if (yaml_read_text(node->entries[i].value, loader->errors, &text))
            vec_push(out, text);
    }
    return true;
}

void load_branches(struct loader *loader, const struct yaml_node *node, glob_list *out)
{
    text_list names = {0};

    (void)load_texts(loader, node, &names);
    for (size_t i = 0; i < names.n; i++) {
        struct err err = ERR_INIT;
        struct glob *glob = NULL;

        if (glob_new(view_of(names.v[i]), &glob, &err))
            yaml_error(loader->errors, node, "branches: %s", err.msg);
        else
            vec_push(out, glob);
    }
    text_list_release(&names);
}

static bool is_variable(struct view name)
{
    if (name.n == 0 || name.n > 256 || (name.p[0] >= '0' && name.p[0] <= '9'))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_'))
            return false;
    }
    return true;
}

void load_env(struct loader *loader, const struct yaml_node *node, config_env_list *out)
{
    if (!node)
        return;
    if (node->kind != YAML_MAP) {
        yaml_error(loader->errors, node, "env is %s: expected a mapping of NAME: value",
                   yaml_kind_name(node));
        return;
    }
    for (size_t i = 0; i < node->n; i++) {
        const struct yaml_node *key = node->entries[i].key;
        const struct yaml_node *value = node->entries[i].value;
        char *text = NULL;

        if (!is_variable(key->text))
            yaml_error(loader->errors, key,
                       "\"%.*s\" is not an environment variable's name: expected letters, digits "
                       "and _",
                       VIEW_ARG(key->text));
        else if (view_starts(key->text, "TAILRACE_"))
            yaml_error(loader->errors, key,
                       "%.*s: names that begin with TAILRACE_ are the system's",
                       VIEW_ARG(key->text));
        else if (value->kind == YAML_NULL)
            text = xstrdup("");
        else
            (void)yaml_read_text(value, loader->errors, &text);
        if (text)
            vec_push(out, ((struct config_env){view_dup(key->text), text}));
    }
}

void load_labels(struct loader *loader, const struct yaml_node *node, text_list *out)
{
    if (!node)
        return;
    if (node->kind != YAML_MAP) {
        (void)load_texts(loader, node, out);
        return;
    }
    for (size_t i = 0; i < node->n; i++) {
        text_list values = {0};

        (void)load_texts(loader, node->entries[i].value, &values);
        for (size_t k = 0; k < values.n; k++)
            vec_push(out, xasprintf("%.*s=%s", VIEW_ARG(node->entries[i].key->text), values.v[k]));
        text_list_release(&values);
    }
}

bool load_name(struct loader *loader, const struct yaml_node *key, const char *what)
{
    if (ident_is_name(key->text))
        return true;
    yaml_error(loader->errors, key,
               "\"%.*s\" cannot name a %s: expected 1 to 64 letters, digits, '.', '_' or '-', not "
               "beginning with '.' or '-'",
               VIEW_ARG(key->text), what);
    return false;
}

bool load_unique(struct loader *loader, const struct yaml_node *key, const char *what, bool taken)
{
    if (taken)
        yaml_error(loader->errors, key, "%s %.*s: there is one of this name already", what,
                   VIEW_ARG(key->text));
    return !taken;
}

/* A text that is the same for the same content, however it was written. */
static void dump(const struct yaml_node *node, struct str *out)
{
    str_printf(out, "(%d %zu:", (int)node->kind, node->text.n);
    str_put_view(out, node->text);
    for (size_t i = 0; i < node->n; i++) {
        if (node->entries[i].key)
            dump(node->entries[i].key, out);
        dump(node->entries[i].value, out);
    }
    str_putc(out, ')');
}

void load_digest(const struct yaml_node *node, const char *more, config_digest out)
{
    struct str text = STR_INIT(256 << 20);
    uint8_t digest[CRYPT_SHA256_BYTES];

    dump(node, &text);
    str_put(&text, more);
    crypt_sha256(str_view(&text), digest);
    crypt_hex(digest, sizeof digest, out);
    str_release(&text);
}

static void load_file(struct loader *loader, const char *path, const struct yaml_node *from);

static void load_includes(struct loader *loader, const struct yaml_node *node)
{
    text_list names = {0};

    (void)load_texts(loader, node, &names);
    for (size_t i = 0; i < names.n; i++) {
        char *path = load_path(node, names.v[i]);

        load_file(loader, path, node->kind == YAML_LIST ? node->entries[i].value : node);
        free(path);
    }
    text_list_release(&names);
}

static void load_root(struct loader *loader, const struct yaml_node *root)
{
    const struct yaml_node *node;

    if (root->kind != YAML_MAP) {
        yaml_error(loader->errors, root,
                   "the file is %s: expected a mapping with master, slaves, pools, projects and "
                   "builders",
                   yaml_kind_name(root));
        return;
    }
    (void)yaml_check_keys(root, loader->errors, "the configuration", top_keys,
                          sizeof top_keys / sizeof *top_keys);
    node = yaml_get(root, "master");
    if (node && loader->master)
        yaml_error(loader->errors, node, "a second master section: the first is in %s, line %u",
                   loader->master->file, loader->master->line);
    else if (node)
        loader->master = node;
    for (int i = 0; i < SECTION_COUNT; i++) {
        node = yaml_get(root, section_names[i]);
        if (node && node->kind == YAML_MAP)
            vec_push(&loader->sections[i], node);
        else if (node && node->kind != YAML_NULL)
            yaml_error(loader->errors, node, "%s is %s: expected a mapping by name",
                       section_names[i], yaml_kind_name(node));
    }
    node = yaml_get(root, "include");
    if (node)
        load_includes(loader, node);
}

static bool seen_before(struct loader *loader, const char *path)
{
    for (size_t i = 0; i < loader->files.n; i++) {
        if (strcmp(loader->files.v[i], path) == 0)
            return true;
    }
    return false;
}

static void load_file(struct loader *loader, const char *path, const struct yaml_node *from)
{
    struct str text = STR_INIT(YAML_MAX_BYTES);
    struct yaml_tree *tree;
    struct err err = ERR_INIT;
    char resolved[PATH_MAX];

    if (loader->files.n >= CONFIG_MAX_FILES) {
        yaml_error(loader->errors, from, "too many included files: at most %d", CONFIG_MAX_FILES);
        return;
    }
    if (realpath(path, resolved) && seen_before(loader, resolved)) {
        yaml_error(loader->errors, from, "%s is included already", path);
        return;
    }
    if (fs_read(path, &text, &err)) {
        if (from)
            yaml_error(loader->errors, from, "include: %s", err.msg);
        else
            yaml_error_at(loader->errors, path, 0, 0, "%s", err.msg);
        str_release(&text);
        return;
    }
    vec_push(&loader->files, xstrdup(resolved));
    tree = yaml_parse(str_view(&text), path, loader->errors);
    str_release(&text);
    if (!tree)
        return;
    vec_push(&loader->trees, tree);
    load_root(loader, yaml_root(tree));
}

static void loader_release(struct loader *loader)
{
    for (size_t i = 0; i < loader->trees.n; i++)
        yaml_tree_free(loader->trees.v[i]);
    for (size_t i = 0; i < loader->files.n; i++)
        free(loader->files.v[i]);
    for (int i = 0; i < SECTION_COUNT; i++)
        vec_release(&loader->sections[i]);
    vec_release(&loader->trees);
    vec_release(&loader->files);
}

struct config *config_load(const char *path, struct yaml_errors *errors)
{
    struct loader loader = {.errors = errors};
    struct config *config = xcalloc(1, sizeof *config);
    char resolved[PATH_MAX];

    atomic_init(&config->refs, 1);
    config->path = xstrdup(realpath(path, resolved) ? resolved : path);
    loader.config = config;
    load_file(&loader, path, NULL);
    if (loader.trees.n > 0) {
        load_master(&loader);
        load_pools(&loader);
        load_projects(&loader);
        load_slaves(&loader);
        load_builders(&loader);
    }
    loader_release(&loader);
    if (errors->v.n > 0)
        config_unref(&config);
    return config;
}
