/*
 * job: an owned copy of a START message: what one attempt is to run.
 */
#ifndef TAILRACE_SLAVE_JOB_H
#define TAILRACE_SLAVE_JOB_H

#include "common/base/err.h"
#include "proto/msg.h"

struct job;

/* Copies; the caller frees. ERR_PROTO with a sentence when it asks for what this agent cannot do
 * (no steps, unknown kind, a command missing, a dir that is absolute or climbs out, a NUL byte
 * where a program could not get it). */
enum err_code job_new(const struct msg_start *start, struct job **out,
                      struct err *err) TAILRACE_MUST_CHECK;
void job_free(struct job *job); /* NULL allowed */
/* The copied message; its views point into the job. Texts are NUL-terminated behind their end. */
const struct msg_start *job_spec(const struct job *job);

#endif
