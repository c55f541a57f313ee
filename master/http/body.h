/*
 * body: the JSON bodies of POST requests, read into commands. Keys that are not known, wrong types
 * and over-long texts are errors that say what was expected. Pure.
 */
#ifndef TAILRACE_MASTER_HTTP_BODY_H
#define TAILRACE_MASTER_HTTP_BODY_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "master/command.h"

enum { BODY_KEY_MAX = 128, BODY_TEXT_MAX = 4096, BODY_FILES_MAX = 10000 };

/* Each fills the command's question. ERR_CONFIG; ERR_LIMIT for what is too long. */
enum err_code body_force(struct view body, struct command *command,
                         struct err *err) TAILRACE_MUST_CHECK;
enum err_code body_change(struct view body, struct command *command,
                          struct err *err) TAILRACE_MUST_CHECK;
/* {"reason": TEXT}, {} or nothing. */
enum err_code body_reason(struct view body, struct command *command,
                          struct err *err) TAILRACE_MUST_CHECK;
/* {} or nothing. */
enum err_code body_none(struct view body, struct err *err) TAILRACE_MUST_CHECK;
/* The header Idempotency-Key; NULL when it was not sent. */
enum err_code body_idempotency(const char *key, struct command *command,
                               struct err *err) TAILRACE_MUST_CHECK;

#endif
