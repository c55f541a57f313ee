/*
 * config: what a slave needs to know: from slave.yaml, from the command line, or both (the command
 * line wins).
 *
 *     master: ci.example.org:9989     # required
 *     dir: /var/lib/tailrace          # required; work folders, mirrors, journals
 *     secret_file: secret             # none: only where the master asks for none
 *     name: linux-01                  # default: the host's name
 *     slots: 2                        # builds at a time; default 1
 *     spool_limit: 1GiB               # what journals may take while the master is away
 *     backoff_max: 30s                # longest wait between two tries to connect
 *
 * Paths in the file are relative to the file.
 */
#ifndef TAILRACE_SLAVE_CONFIG_H
#define TAILRACE_SLAVE_CONFIG_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"
#include "common/base/yamltree.h"

enum { CONFIG_SLOTS_MAX = 256 };

/* Owned texts; NULL or 0 while unset. */
struct config {
    char *master; /* as written */
    char *master_host;
    uint16_t master_port;
    char *name;
    char *secret_file;
    char *dir;
    uint32_t slots;
    uint64_t spool_limit_bytes;
    uint64_t backoff_max_ms;
};

#define CONFIG_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

void config_release(struct config *config);
/* Reads the file into *config; what is set there already stays. Every error goes into *errors with
 * its place; false when there was one. */
bool config_load(const char *path, struct config *config,
                 struct yaml_errors *errors) TAILRACE_MUST_CHECK;
/* As config_load, from text; file is the name for errors and what paths are relative to. */
bool config_parse(struct view text, const char *file, struct config *config,
                  struct yaml_errors *errors) TAILRACE_MUST_CHECK;
/* Sets the defaults and checks the whole. ERR_CONFIG says what is missing or wrong. */
enum err_code config_complete(struct config *config, struct err *err) TAILRACE_MUST_CHECK;

#endif
