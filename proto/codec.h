/*
 * codec: messages to bytes and back, driven by the tables that messages.def makes. The only file
 * that knows msgpack-c.
 */
#ifndef TAILRACE_PROTO_CODEC_H
#define TAILRACE_PROTO_CODEC_H

#include "common/base/err.h"
#include "common/base/str.h"
#include "proto/msg.h"

enum msg_from { MSG_FROM_SLAVE = 1, MSG_FROM_MASTER = 2, MSG_FROM_BOTH = 3 };
enum msg_lane { MSG_LANE_CONTROL, MSG_LANE_BULK, MSG_LANE_RECORD };

/* Appends the msgpack value, without a frame header. ERR_LIMIT when a text or list is over its
 * limit in messages.def, or *out over its maximum; *out is as before then. */
enum err_code msg_encode(const struct msg *msg, struct str *out,
                         struct err *err) TAILRACE_MUST_CHECK;

/* Reusable memory for decoded lists. */
struct msg_arena;
struct msg_arena *msg_arena_new(void);
void msg_arena_free(struct msg_arena *arena); /* NULL allowed */

/* Decodes one value that must fill body exactly. Scans first (scan.h). Unknown type numbers, wrong
 * field types, missing required fields and anything over its limit are ERR_PROTO with a sentence
 * ("HELLO.name: text of 70 bytes, at most 64"). The arena's earlier content is dropped. *out
 * borrows from body and arena. */
enum err_code msg_decode(struct msg_arena *arena, struct view body, struct msg *out,
                         struct err *err) TAILRACE_MUST_CHECK;

/* "HELLO", "LOG_BLOCK"; "?" for a number that is none. */
const char *msg_name(enum msg_type type);
enum msg_from msg_sender(enum msg_type type); /* records: MSG_FROM_SLAVE */
enum msg_lane msg_lane(enum msg_type type);
/* Appends one readable line, texts escaped and cut, for logs and tests. */
void msg_print(const struct msg *msg, struct str *out);

/* One row of messages.def: the head of a message, record or struct (field is NULL), or one of its
 * fields. All texts are constant. */
struct msg_description {
    const char *owner;  /* "HELLO", "held" */
    unsigned number;    /* 0 for a struct */
    size_t required;    /* fields that must be there */
    enum msg_from from; /* messages and records only, like lane */
    enum msg_lane lane;
    const char *field;
    const char *kind;    /* "U32", "TEXT", ... */
    size_t most;         /* bytes of TEXT and BIN, elements of TEXTS and LIST; 0 for others */
    size_t most_each;    /* bytes of each of TEXTS */
    const char *element; /* the struct of a LIST */
};

typedef void (*msg_describe_fn)(void *arg, const struct msg_description *row);
/* Walks the tables, for the check of PROTOCOL.md: structs first, then messages and records by
 * number, each head followed by its fields in order. */
void msg_describe(msg_describe_fn fn, void *arg);

#endif
