/*
 * Paths of the REST API, built safely: whatever a user typed as a name is escaped. A path grows in
 * a str of URI_MAX bytes; names longer than URI_PART_MAX are refused before (args.c), so it cannot
 * overflow. Pure.
 */
#ifndef TAILRACE_CLIENT_URI_H
#define TAILRACE_CLIENT_URI_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/base/str.h"

enum { URI_MAX = 64 * 1024, URI_PART_MAX = 4096 };

/* Appends "/" and the escaped segment. */
void uri_segment(struct str *path, const char *segment);
/* Appends "?name=value", or "&name=value" when there is a '?' already. NULL or "" appends nothing.
 */
void uri_query(struct str *path, const char *name, const char *value);
void uri_query_u64(struct str *path, const char *name, uint64_t value);

/* The master's address as a user writes it ("ci.example.org:8010", "http://ci/") without a slash at
 * the end and with a scheme; the caller frees *out. ERR_CONFIG when it is no http or https address.
 */
enum err_code uri_master(const char *text, char **out, struct err *err) TAILRACE_MUST_CHECK;

/* A build as a user writes it: "12", "#12", or its page's address. ERR_CONFIG else. */
enum err_code uri_build_id(const char *text, uint64_t *id, struct err *err) TAILRACE_MUST_CHECK;

#endif
