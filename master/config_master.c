/* The sections master, pools, projects and slaves. */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "common/io/listener.h"
#include "master/config_private.h"

static const char *const master_keys[] = {
    "title",      "listen",     "web",         "url",           "data",
    "token_file", "insecure",   "lost_after",  "start_timeout", "dependency_timeout",
    "ping_after", "drop_after", "max_attempts"};
static const char *const pool_keys[] = {"backlog"};
static const char *const backlog_words[] = {"fifo", "latest"};
static const char *const project_keys[] = {"git", "poll", "branches"};
static const char *const slave_keys[] = {"pools", "labels", "slots", "secret_file"};

enum { POLL_LEAST_MS = 100, URL_MAX_BYTES = 900, SECRETS_MOST = 8, SECRET_LEAST_BYTES = 16 };

#define KEYS(list) (list), sizeof(list) / sizeof *(list)

static void read_duration(struct loader *loader, const struct yaml_node *map, const char *key,
                          uint64_t least_ms, uint64_t *ms)
{
    const struct yaml_node *node = yaml_get(map, key);
    uint64_t value = *ms;

    if (!node || !yaml_read_duration(node, loader->errors, &value))
        return;
    if (value < least_ms)
        yaml_error(loader->errors, node, "%s is too short: expected at least %llu ms", key,
                   (unsigned long long)least_ms);
    *ms = value;
}

/* An address to listen on, and whether other machines can reach it. */
static bool read_address(struct loader *loader, const struct yaml_node *map, const char *key,
                         const char *otherwise, char **out)
{
    const struct yaml_node *node = yaml_get(map, key);
    struct err err = ERR_INIT;
    char *host = NULL;
    uint16_t port;
    bool outside;

    *out = xstrdup(otherwise);
    if (node && !yaml_read_text(node, loader->errors, out))
        return false;
    if (address_split(*out, &host, &port, &err)) {
        yaml_error(loader->errors, node, "%s: %s", key, err.msg);
        return false;
    }
    outside = !address_is_loopback(host);
    free(host);
    return outside;
}

static struct view trimmed(struct view line)
{
    while (line.n > 0 && strchr(" \t\r", line.p[line.n - 1]))
        line.n--;
    while (line.n > 0 && strchr(" \t", line.p[0]))
        line = view_bytes(line.p + 1, line.n - 1);
    return line;
}

/* The lines of a secret file, the newest first. */
static void read_secrets(struct loader *loader, const struct yaml_node *node, text_list *out)
{
    struct str text = STR_INIT(65536);
    struct err err = ERR_INIT;
    char *name = NULL;
    char *path;
    struct view rest;

    if (!node || !yaml_read_text(node, loader->errors, &name))
        return;
    path = load_path(node, name);
    if (fs_read_secret(path, &text, &err))
        yaml_error(loader->errors, node, "%s", err.msg);
    rest = str_view(&text);
    while (rest.n > 0) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t taken = end ? (size_t)(end - rest.p) + 1 : rest.n;
        struct view line = trimmed(view_bytes(rest.p, end ? taken - 1 : taken));

        rest = view_bytes(rest.p + taken, rest.n - taken);
        if (line.n > 0)
            vec_push(out, view_dup(line));
        if (line.n > 0 && line.n < SECRET_LEAST_BYTES)
            yaml_error(loader->errors, node, "secret %s: a line of %zu bytes, at least %d", path,
                       line.n, SECRET_LEAST_BYTES);
    }
    if (out->n > SECRETS_MOST)
        yaml_error(loader->errors, node, "secret %s: %zu lines, at most %d", path, out->n,
                   SECRETS_MOST);
    str_release(&text);
    free(path);
    free(name);
}

static void read_url(struct loader *loader, const struct yaml_node *node)
{
    struct config *config = loader->config;
    size_t n;

    if (!node || !yaml_read_text(node, loader->errors, &config->url))
        return;
    n = strlen(config->url);
    if (strncmp(config->url, "http://", 7) != 0 && strncmp(config->url, "https://", 8) != 0) {
        yaml_error(loader->errors, node, "url: expected http://HOST/ or https://HOST/");
        return;
    }
    if (n > URL_MAX_BYTES) {
        yaml_error(loader->errors, node, "url: %zu bytes, at most %d", n, URL_MAX_BYTES);
        return;
    }
    if (config->url[n - 1] != '/') {
        char *with = xasprintf("%s/", config->url);

        free(config->url);
        config->url = with;
    }
}

static void read_data(struct loader *loader, const struct yaml_node *map)
{
    struct config *config = loader->config;
    const struct yaml_node *node = yaml_get(map, "data");
    char *name = xstrdup("data");
    char *dir;

    if (node)
        (void)yaml_read_text(node, loader->errors, &name);
    dir = fs_dirname(config->path);
    config->data = fs_join(dir, name);
    free(dir);
    free(name);
}

static void set_defaults(struct config *config)
{
    config->title = xstrdup("Tailrace");
    config->lost_after_ms = 10 * 60 * 1000;
    config->start_timeout_ms = 60 * 1000;
    config->dependency_timeout_ms = 24ull * 3600 * 1000;
    config->ping_after_ms = 15 * 1000;
    config->drop_after_ms = 45 * 1000;
    config->max_attempts = 3;
}

void load_master(struct loader *loader)
{
    static const struct yaml_node nothing = {.kind = YAML_MAP};
    const struct yaml_node *map = loader->master ? loader->master : &nothing;
    struct config *config = loader->config;
    const struct yaml_node *node;
    uint64_t attempts = 3;
    bool listen_outside, web_outside;

    set_defaults(config);
    if (loader->master)
        (void)yaml_check_keys(map, loader->errors, "master", KEYS(master_keys));
    if (map->kind != YAML_MAP)
        map = &nothing;
    if ((node = yaml_get(map, "title")))
        (void)yaml_read_text(node, loader->errors, &config->title);
    if ((node = yaml_get(map, "insecure")))
        (void)yaml_read_bool(node, loader->errors, &config->insecure);
    if ((node = yaml_get(map, "max_attempts")))
        (void)yaml_read_u64(node, loader->errors, 1, 100, &attempts);
    config->max_attempts = (uint32_t)attempts;
    read_url(loader, yaml_get(map, "url"));
    read_data(loader, map);
    read_secrets(loader, yaml_get(map, "token_file"), &config->tokens);
    read_duration(loader, map, "lost_after", 0, &config->lost_after_ms);
    read_duration(loader, map, "start_timeout", 100, &config->start_timeout_ms);
    read_duration(loader, map, "dependency_timeout", 1000, &config->dependency_timeout_ms);
    read_duration(loader, map, "ping_after", 100, &config->ping_after_ms);
    read_duration(loader, map, "drop_after", 200, &config->drop_after_ms);
    if (config->drop_after_ms <= config->ping_after_ms)
        yaml_error(loader->errors,
                   yaml_get(map, yaml_get(map, "drop_after") ? "drop_after" : "ping_after"),
                   "drop_after must be longer than ping_after");
    listen_outside = read_address(loader, map, "listen", "127.0.0.1:9989", &config->listen);
    web_outside = read_address(loader, map, "web", "127.0.0.1:8010", &config->web);
    if (listen_outside && !config->insecure)
        yaml_error(loader->errors, yaml_get(map, "listen"),
                   "listen %s: other machines can reach it, and the connection is not encrypted: "
                   "expected a loopback address, or `insecure: true`",
                   config->listen);
    if (web_outside && !config->insecure && config->tokens.n == 0)
        yaml_error(loader->errors, yaml_get(map, "web"),
                   "web %s: anybody who can reach it could start builds: expected a token_file, a "
                   "loopback address, or `insecure: true`",
                   config->web);
}

void load_pools(struct loader *loader)
{
    const struct yaml_node **section;

    VEC_FOREACH (&loader->sections[SECTION_POOLS], section) {
        for (size_t i = 0; i < (*section)->n; i++) {
            const struct yaml_node *key = (*section)->entries[i].key;
            const struct yaml_node *value = (*section)->entries[i].value;
            struct config_pool *pool = xcalloc(1, sizeof *pool);
            const struct yaml_node *node;
            size_t word = 0;

            pool->name = view_dup(key->text);
            if (!load_name(loader, key, "pool") ||
                !load_unique(loader, key, "pool",
                             config_find_pool(loader->config, pool->name) != NULL)) {
                free(pool->name);
                free(pool);
                continue;
            }
            load_digest(value, "", pool->digest);
            HASH_ADD_KEYPTR(hh, loader->config->pools, pool->name, strlen(pool->name), pool);
            if (value->kind == YAML_NULL ||
                !yaml_check_keys(value, loader->errors, "a pool", KEYS(pool_keys)))
                continue;
            node = yaml_get(value, "backlog");
            if (node && yaml_read_word(node, loader->errors, KEYS(backlog_words), &word))
                pool->backlog_latest = word == 1;
        }
    }
}

/* Where the repository is: a URL of a kind that runs no command, host:path, or a path relative to
 * the file. */
static char *read_git(struct loader *loader, const struct yaml_node *node)
{
    static const char *const schemes[] = {"file://", "https://", "http://", "ssh://", "git://"};
    char *text = NULL;
    const char *colon;
    char *path;

    if (!yaml_read_text(node, loader->errors, &text))
        return NULL;
    if (text[0] == '\0' || text[0] == '-' || strstr(text, "::")) {
        yaml_error(loader->errors, node, "git: \"%s\" is not a repository's URL or path", text);
        return text;
    }
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (strncmp(text, schemes[i], strlen(schemes[i])) == 0)
            return text;
    }
    if (strstr(text, "://")) {
        yaml_error(loader->errors, node,
                   "git: %s: expected file, https, http, ssh or git before ://", text);
        return text;
    }
    colon = strchr(text, ':');
    if (colon && (!strchr(text, '/') || colon < strchr(text, '/')))
        return text;
    path = load_path(node, text);
    free(text);
    return path;
}

/* 0: not polled, pushes are told by others. */
static void read_poll(struct loader *loader, const struct yaml_node *node,
                      struct config_project *project)
{
    if (yaml_read_duration(node, loader->errors, &project->poll_ms) && project->poll_ms > 0 &&
        project->poll_ms < POLL_LEAST_MS)
        yaml_error(loader->errors, node, "poll is too short: expected 0 (never) or at least %d ms",
                   POLL_LEAST_MS);
}

static void load_project(struct loader *loader, const struct yaml_node *key,
                         const struct yaml_node *value)
{
    struct config_project *project;
    const struct yaml_node *node;
    char *name = view_dup(key->text);

    if (!load_name(loader, key, "project") ||
        !load_unique(loader, key, "project", config_find_project(loader->config, name) != NULL)) {
        free(name);
        return;
    }
    project = xcalloc(1, sizeof *project);
    project->name = name;
    load_digest(value, "", project->digest);
    HASH_ADD_KEYPTR(hh, loader->config->projects, project->name, strlen(name), project);
    if (!yaml_check_keys(value, loader->errors, "a project", KEYS(project_keys)))
        return;
    node = yaml_get(value, "git");
    if (node)
        project->git = read_git(loader, node);
    else
        yaml_error(loader->errors, key,
                   "project %s has no git: expected a repository's URL or path", name);
    node = yaml_get(value, "poll");
    if (node)
        read_poll(loader, node, project);
    node = yaml_get(value, "branches");
    if (node)
        load_branches(loader, node, &project->branches);
    if (!node || (node->kind == YAML_LIST && node->n == 0))
        yaml_error(loader->errors, node ? node : key,
                   "project %s has no branches: expected a list of names or patterns", name);
}

void load_projects(struct loader *loader)
{
    const struct yaml_node **section;

    VEC_FOREACH (&loader->sections[SECTION_PROJECTS], section) {
        for (size_t i = 0; i < (*section)->n; i++)
            load_project(loader, (*section)->entries[i].key, (*section)->entries[i].value);
    }
}

static void check_pools(struct loader *loader, const struct yaml_node *node, const text_list *pools)
{
    VEC(const char *) known = {0};
    struct config_pool *pool, *next;

    HASH_ITER (hh, loader->config->pools, pool, next) {
        vec_push(&known, pool->name);
    }
    for (size_t i = 0; i < pools->n; i++) {
        const char *near;

        if (config_find_pool(loader->config, pools->v[i]))
            continue;
        near = text_nearest(view_of(pools->v[i]), known.v, known.n);
        yaml_error(loader->errors, node->kind == YAML_LIST ? node->entries[i].value : node,
                   "there is no pool %s%s%s%s", pools->v[i], near ? ": did you mean " : "",
                   near ? near : "", near ? "?" : ": expected one of those under `pools`");
    }
    vec_release(&known);
}

static void copy_list(const text_list *from, text_list *to)
{
    for (size_t i = 0; i < from->n; i++)
        vec_push(to, xstrdup(from->v[i]));
}

static void add_slave(struct loader *loader, const struct yaml_node *key, const char *name,
                      const struct config_slave *like)
{
    struct view view = view_of(name);
    struct yaml_node named = *key;
    struct config_slave *slave;

    named.text = view;
    if (!load_name(loader, &named, "slave"))
        return;
    if (!load_unique(loader, &named, "slave", config_find_slave(loader->config, name) != NULL))
        return;
    slave = xcalloc(1, sizeof *slave);
    slave->name = xstrdup(name);
    slave->slots = like->slots;
    slave->secret_file = like->secret_file ? xstrdup(like->secret_file) : NULL;
    memcpy(slave->digest, like->digest, sizeof slave->digest);
    copy_list(&like->pools, &slave->pools);
    copy_list(&like->labels, &slave->labels);
    copy_list(&like->secrets, &slave->secrets);
    HASH_ADD_KEYPTR(hh, loader->config->slaves, slave->name, strlen(slave->name), slave);
}

/* Fills what all slaves of one pattern share. */
static void read_slave(struct loader *loader, const struct yaml_node *key,
                       const struct yaml_node *value, struct config_slave *like)
{
    const struct yaml_node *node;
    struct str secrets = STR_INIT(1 << 20);
    uint64_t slots = 0;

    if (!yaml_check_keys(value, loader->errors, "a slave", KEYS(slave_keys)))
        return;
    node = yaml_get(value, "pools");
    if (node && load_texts(loader, node, &like->pools))
        check_pools(loader, node, &like->pools);
    if (!node || (node->kind == YAML_LIST && node->n == 0))
        yaml_error(loader->errors, node ? node : key,
                   "slave %.*s is in no pool: expected pools: [NAME, ...]", VIEW_ARG(key->text));
    load_labels(loader, yaml_get(value, "labels"), &like->labels);
    node = yaml_get(value, "slots");
    if (node && yaml_read_u64(node, loader->errors, 1, 1024, &slots))
        like->slots = (uint32_t)slots;
    node = yaml_get(value, "secret_file");
    if (node) {
        (void)yaml_read_text(node, loader->errors, &like->secret_file);
        read_secrets(loader, node, &like->secrets);
    }
    for (size_t i = 0; i < like->secrets.n; i++)
        str_printf(&secrets, "%s\n", like->secrets.v[i]);
    load_digest(value, str_cstr(&secrets), like->digest);
    str_release(&secrets);
}

static void load_slave(struct loader *loader, const struct yaml_node *key,
                       const struct yaml_node *value)
{
    struct config_slave like = {0};
    struct err err = ERR_INIT;
    text_list names = {0};
    char *host = NULL;
    uint16_t port;

    if (text_expand_hosts(key->text, CONFIG_MAX_SLAVES, &names, &err))
        yaml_error(loader->errors, key, "%s", err.msg);
    read_slave(loader, key, value, &like);
    if (address_split(loader->config->listen, &host, &port, NULL) == ERR_OK &&
        !address_is_loopback(host) && !like.secret_file)
        yaml_error(loader->errors, key,
                   "slave %.*s has no secret_file: any machine that can reach the master could "
                   "call itself that",
                   VIEW_ARG(key->text));
    for (size_t i = 0; i < names.n; i++) {
        if (HASH_COUNT(loader->config->slaves) >= CONFIG_MAX_SLAVES) {
            yaml_error(loader->errors, key, "too many slaves: at most %d", CONFIG_MAX_SLAVES);
            break;
        }
        add_slave(loader, key, names.v[i], &like);
    }
    free(host);
    text_list_release(&names);
    text_list_release(&like.pools);
    text_list_release(&like.labels);
    text_list_release(&like.secrets);
    free(like.secret_file);
}

void load_slaves(struct loader *loader)
{
    const struct yaml_node **section;

    VEC_FOREACH (&loader->sections[SECTION_SLAVES], section) {
        for (size_t i = 0; i < (*section)->n; i++)
            load_slave(loader, (*section)->entries[i].key, (*section)->entries[i].value);
    }
}
