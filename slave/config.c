#include "slave/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ident.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "common/io/listener.h"
#include "slave/spool.h"

enum { BACKOFF_LEAST_MS = 250, BACKOFF_MOST_MS = 3600000, HOST_NAME_BYTES = 256 };

static const uint64_t default_spool_limit_bytes = 1 << 30;
static const uint64_t default_backoff_max_ms = 30000;

static const char *const keys[] = {"master", "name",        "secret_file", "dir",
                                   "slots",  "spool_limit", "backoff_max"};

void config_release(struct config *config)
{
    free(config->master);
    free(config->master_host);
    free(config->name);
    free(config->secret_file);
    free(config->dir);
    *config = (struct config)CONFIG_INIT;
}

/* Reads the text of a key; *out keeps what it has when it was set before. */
static const struct yaml_node *read_text(const struct yaml_node *root, const char *key, char **out,
                                         struct yaml_errors *errors)
{
    const struct yaml_node *node = yaml_get(root, key);
    char *text = NULL;

    if (!node || !yaml_read_text(node, errors, &text))
        return NULL;
    if (text[0] == '\0') {
        yaml_error(errors, node, "%s: is empty: expected some text", key);
        free(text);
        return NULL;
    }
    if (*out) {
        free(text);
        return NULL;
    }
    *out = text;
    return node;
}

static void read_path(const struct yaml_node *root, const char *key, const char *dir, char **out,
                      struct yaml_errors *errors)
{
    char *written = NULL;

    if (read_text(root, key, &written, errors) && !*out)
        *out = fs_join(dir, written);
    free(written);
}

static void read_master(const struct yaml_node *root, struct config *config,
                        struct yaml_errors *errors)
{
    const struct yaml_node *node = read_text(root, "master", &config->master, errors);
    struct err err = ERR_INIT;
    char *host = NULL;
    uint16_t port;

    if (node && address_split(config->master, &host, &port, &err) != ERR_OK)
        yaml_error(errors, node, "master: %s", err.msg);
    free(host);
}

static void read_name(const struct yaml_node *root, struct config *config,
                      struct yaml_errors *errors)
{
    const struct yaml_node *node = read_text(root, "name", &config->name, errors);

    if (node && !ident_is_name(view_of(config->name)))
        yaml_error(errors, node,
                   "name: '%s' cannot be a slave's name: expected 1 to 64 letters, digits, "
                   "'.', '_', '-'",
                   config->name);
}

static void read_numbers(const struct yaml_node *root, struct config *config,
                         struct yaml_errors *errors)
{
    const struct yaml_node *node = yaml_get(root, "slots");
    uint64_t number;

    if (node && yaml_read_u64(node, errors, 1, CONFIG_SLOTS_MAX, &number) && config->slots == 0)
        config->slots = (uint32_t)number;
    node = yaml_get(root, "spool_limit");
    if (node && yaml_read_size(node, errors, &number)) {
        if (number < SPOOL_LIMIT_LEAST_BYTES)
            yaml_error(errors, node, "spool_limit: is too small: expected at least 1MiB");
        else if (config->spool_limit_bytes == 0)
            config->spool_limit_bytes = number;
    }
    node = yaml_get(root, "backoff_max");
    if (node && yaml_read_duration(node, errors, &number)) {
        if (number < BACKOFF_LEAST_MS || number > BACKOFF_MOST_MS)
            yaml_error(errors, node, "backoff_max: is out of range: expected 250ms to 1h");
        else if (config->backoff_max_ms == 0)
            config->backoff_max_ms = number;
    }
}

bool config_parse(struct view text, const char *file, struct config *config,
                  struct yaml_errors *errors)
{
    size_t before = errors->v.n;
    struct yaml_tree *tree = yaml_parse(text, file, errors);
    const struct yaml_node *root;
    char *dir;

    if (!tree)
        return false;
    root = yaml_root(tree);
    dir = fs_dirname(file);
    (void)yaml_check_keys(root, errors, "slave.yaml", keys, sizeof keys / sizeof *keys);
    if (root->kind == YAML_MAP) {
        read_master(root, config, errors);
        read_name(root, config, errors);
        read_path(root, "secret_file", dir, &config->secret_file, errors);
        read_path(root, "dir", dir, &config->dir, errors);
        read_numbers(root, config, errors);
    }
    free(dir);
    yaml_tree_free(tree);
    return errors->v.n == before;
}

bool config_load(const char *path, struct config *config, struct yaml_errors *errors)
{
    struct str text = STR_INIT(YAML_MAX_BYTES);
    struct err err = ERR_INIT;
    bool fine = false;

    if (fs_read(path, &text, &err) == ERR_OK)
        fine = config_parse(str_view(&text), path, config, errors);
    else
        yaml_error_at(errors, path, 0, 0, "%s", err.msg);
    str_release(&text);
    return fine;
}

static void default_name(struct config *config)
{
    char host[HOST_NAME_BYTES];

    if (gethostname(host, sizeof host) != 0)
        return;
    host[sizeof host - 1] = '\0';
    config->name = xstrdup(host);
}

enum err_code config_complete(struct config *config, struct err *err)
{
    char *host;
    uint16_t port;
    enum err_code rc;

    if (!config->master)
        return err_set(err, ERR_CONFIG,
                       "the master's address is missing: expected master: "
                       "HOST:PORT or --master HOST:PORT");
    if (!config->dir)
        return err_set(err, ERR_CONFIG,
                       "the slave's folder is missing: expected dir: DIR or --dir DIR");
    rc = address_split(config->master, &host, &port, err);
    if (rc) {
        err_prefix(err, "master");
        return rc;
    }
    free(config->master_host);
    config->master_host = host;
    config->master_port = port;
    if (!config->name)
        default_name(config);
    if (!config->name || !ident_is_name(view_of(config->name)))
        return err_set(err, ERR_CONFIG,
                       "'%s' cannot be a slave's name: expected 1 to 64 letters, digits, '.', "
                       "'_', '-'",
                       config->name ? config->name : "");
    if (config->slots == 0)
        config->slots = 1;
    if (config->spool_limit_bytes == 0)
        config->spool_limit_bytes = default_spool_limit_bytes;
    if (config->backoff_max_ms == 0)
        config->backoff_max_ms = default_backoff_max_ms;
    return ERR_OK;
}
