/*
 * config: one checked configuration, immutable once loaded, shared by the threads by reference
 * count. DESIGN section 8.
 */
#ifndef TAILRACE_MASTER_CONFIG_H
#define TAILRACE_MASTER_CONFIG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "common/base/crypt.h"
#include "common/base/glob.h"
#include "common/base/str.h"
#include "common/base/text.h"
#include "common/base/vec.h"
#include "common/base/yamltree.h"
#include "master/model.h"
#include "proto/msg.h"

struct config_env {
    char *name, *value;
};
typedef VEC(struct config_env) config_env_list;
typedef VEC(struct glob *) glob_list;

struct config_step {
    char *name; /* given, or the kind's name, made unique within the builder ("build", "build-2") */
    enum step_kind kind;
    char *shell;    /* a command as text, or NULL */
    text_list argv; /* or an exact vector */
    char *dir;      /* NULL: the source folder */
    config_env_list env;
    uint64_t timeout_ms, idle_timeout_ms, grace_ms, log_limit;
    bool always;
    enum step_policy on_failure;
    bool separate_stderr;
    uint32_t iterations, warmup;
    bool submodules, keep_tree; /* checkout */
};

/* A hash of the YAML that an object was made from, so that two configurations can be compared. */
typedef char config_digest[CRYPT_SHA256_HEX];

struct config_pool {
    char *name;
    config_digest digest;
    bool backlog_latest;
    UT_hash_handle hh;
};

struct config_project {
    char *name;
    config_digest digest;
    char *git;        /* URL or absolute path */
    uint64_t poll_ms; /* 0: not polled */
    glob_list branches;
    UT_hash_handle hh;
};

struct config_builder {
    char *name;
    config_digest digest;
    const struct config_project *project;
    const struct config_pool *pool;
    VEC(const struct config_builder *) after;
    glob_list branches; /* empty: the project's */
    text_list needs;    /* labels a slave must have */
    enum priority priority;
    uint32_t max_running; /* 0: no limit */
    uint32_t max_attempts;
    uint64_t lost_after_ms;
    config_env_list env;
    VEC(struct config_step) steps;
    unsigned line; /* where it stands, for messages */
    bool settled;  /* while loading: it waits for no cycle */
    UT_hash_handle hh;
};

struct config_slave {
    char *name;
    config_digest digest;
    text_list pools, labels; /* labels flattened: "quiet", "os=linux" */
    uint32_t slots;    /* most builds at once; the slave may offer fewer. 0: what the slave says */
    char *secret_file; /* NULL: none */
    text_list secrets; /* what the file held when it was loaded, one a line, the newest first */
    UT_hash_handle hh;
};

struct config {
    atomic_uint refs;
    char *path;                       /* the file */
    char *title, *listen, *web, *url; /* url ends in '/' or is NULL: made from web's port */
    char *data;                       /* absolute */
    text_list tokens;                 /* who may act; empty: everybody (loopback, or insecure) */
    bool insecure;
    uint64_t lost_after_ms, start_timeout_ms, dependency_timeout_ms, ping_after_ms, drop_after_ms;
    uint32_t max_attempts;
    struct config_pool *pools;
    struct config_project *projects;
    struct config_builder *builders; /* in the file's order */
    struct config_slave *slaves;     /* patterns expanded */
};

/* Reads, includes and checks everything, secrets too. NULL with at least one entry in *errors when
 * anything is wrong. Blocking: not on the loop thread. The caller holds one reference. */
struct config *config_load(const char *path, struct yaml_errors *errors);
struct config *config_ref(struct config *config);
void config_unref(struct config **config); /* sets NULL; NULL allowed */

const struct config_builder *config_find_builder(const struct config *config, const char *name);
const struct config_project *config_find_project(const struct config *config, const char *name);
const struct config_pool *config_find_pool(const struct config *config, const char *name);
const struct config_slave *config_find_slave(const struct config *config, const char *name);
/* Whether the builder builds that branch of its project. */
bool config_builds_branch(const struct config_builder *builder, const char *branch);
/* The first literal branch of the project, what a force without a branch means; NULL when all are
 * patterns. */
const char *config_default_branch(const struct config_project *project);

/* What changed from `from` to `to`, as words like "builder sds-build", appended to the lists. */
void config_diff(const struct config *from, const struct config *to, text_list *added,
                 text_list *changed, text_list *removed);
/* The summary that `tailrace check` prints: what would run. Appended to *out. */
void config_summary(const struct config *config, struct str *out);

#endif
