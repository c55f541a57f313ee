/*
 * Messages and records as C structs, generated from messages.def. Texts, bytes and lists are
 * borrowed: when decoded they point into the frame and into the arena given to msg_decode(), and
 * are good until either changes.
 */
#ifndef TAILRACE_PROTO_MSG_H
#define TAILRACE_PROTO_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

/* The protocol versions that this program speaks. */
enum { PROTO_MIN = 1, PROTO_MAX = 1 };

/* What a build or a step ended with. Stored and sent as numbers: never renumber. */
enum build_result {
    RESULT_NONE = 0,
    RESULT_SUCCESS = 1,
    RESULT_WARNINGS = 2,
    RESULT_FAILURE = 3,
    RESULT_EXCEPTION = 4,
    RESULT_CANCELLED = 5,
    RESULT_SKIPPED = 6,
    RESULT_LAST = RESULT_SKIPPED,
};

enum step_kind {
    STEP_CHECKOUT = 1,
    STEP_BUILD = 2,
    STEP_TEST = 3,
    STEP_BENCHMARK = 4,
    STEP_KIND_LAST = STEP_BENCHMARK,
};

/* What a failed step does to the build. */
enum step_policy {
    ON_FAILURE_STOP = 0,     /* the build fails; only `always` steps still run */
    ON_FAILURE_CONTINUE = 1, /* the build fails, its steps go on */
    ON_FAILURE_WARN = 2,     /* the build has warnings, its steps go on */
    ON_FAILURE_LAST = ON_FAILURE_WARN,
};

/* "success", "warnings", ...; "?" for a number that is none. Constant. */
const char *result_name(enum build_result result);
const char *step_kind_name(enum step_kind kind);
/* RESULT_NONE / 0 when the word is none. */
enum build_result result_of_name(const char *name);
enum step_kind step_kind_of_name(const char *name);

#define STRUCT(name, required)                            struct msg_##name {
#define MESSAGE(number, NAME, name, from, lane, required) struct msg_##name {
#define RECORD(number, NAME, name, required)              struct msg_##name {
/* clang-format off */
#define END(name)            };
/* clang-format on */
#define U32(s, field)        uint32_t field;
#define U64(s, field)        uint64_t field;
#define I64(s, field)        int64_t field;
#define F64(s, field)        double field;
#define BOOL(s, field)       bool field;
#define TEXT(s, field, most) struct view field;
#define BIN(s, field, most)  struct view field;
#define TEXTS(s, field, most_n, most)                                                              \
    struct {                                                                                       \
        const struct view *v;                                                                      \
        size_t n;                                                                                  \
    } field;
#define LIST(s, field, element, most)                                                              \
    struct {                                                                                       \
        const struct msg_##element *v;                                                             \
        size_t n;                                                                                  \
    } field;
#include "proto/messages.def"

enum msg_type {
    MSG_NONE = 0,
#define MESSAGE(number, NAME, name, from, lane, required) MSG_##NAME = (number),
#define RECORD(number, NAME, name, required)              REC_##NAME = (number),
#include "proto/messages.def"
};

/* One message or record. */
struct msg {
    enum msg_type type;
    union {
#define MESSAGE(number, NAME, name, from, lane, required) struct msg_##name name;
#define RECORD(number, NAME, name, required)              struct msg_##name name;
#include "proto/messages.def"
    } u;
};

#endif
