/*
 * codec: messages to bytes and back, driven by the tables that messages.def makes. The only file that knows msgpack-c.
 */
#ifndef TAILRACE_PROTO_CODEC_H
#define TAILRACE_PROTO_CODEC_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "proto/msg.h"

enum msg_from { MSG_FROM_SLAVE = 1, MSG_FROM_MASTER = 2, MSG_FROM_BOTH = 3 };
enum msg_lane { MSG_LANE_CONTROL, MSG_LANE_BULK, MSG_LANE_RECORD };

/* Appends the msgpack value, without a frame header. ERR_LIMIT when a text or list is over its limit in messages.def, or
 * *out over its maximum; *out is as before then. */
enum err_code msg_encode(const struct msg *msg, struct str *out, struct err *err)
    TAILRACE_MUST_CHECK;

/* Reusable memory for decoded lists. */
struct msg_arena;
struct msg_arena *msg_arena_new(void);
void msg_arena_free(struct msg_arena *arena); /* NULL allowed */

/* Decodes one value that must fill body exactly. Scans first (scan.h). Unknown type numbers, wrong field types, missing required fields and
 * anything over its limit are ERR_PROTO with a sentence ("HELLO.name: text of 70 bytes, at most 64"). The
 * arena's earlier content is dropped. *out borrows from body and arena. */
enum err_code msg_decode(struct msg_arena *arena, struct view body, struct msg *out,
                         struct err *err) TAILRACE_MUST_CHECK;

/* "HELLO", "LOG_BLOCK"; "?" for a number that is none. */
const char *msg_name(enum msg_type type);
enum msg_from msg_sender(enum msg_type type); /* records: MSG_FROM_SLAVE */
enum msg_lane msg_lane(enum msg_type type);
/* Appends one readable line, texts escaped and cut, for logs and tests. */
void msg_print(const struct msg *msg, struct str *out);
/* Walks the tables, for the check of PROTOCOL.md: calls fn for every message, record and struct and each of their fields. kind is "U32", "TEXT"...;
 * field is NULL for the head of each, whose number is 0 for a struct. */
void msg_describe(void (*fn)(void *arg, const char *name, unsigned number, const char *field,
                             const char *kind, size_t most),
                  void *arg);

#endif
