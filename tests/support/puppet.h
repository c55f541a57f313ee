/*
 * puppet: a slave that says and does only what the test tells it to: the slave's end of a real
 * session, on a stream in memory whose other end goes to a real registry. It answers PINGs (unless
 * muted) and keeps what it hears as lines:
 *
 *     START 12/1          ACK 12/1 3         FORGET 12/1        CANCEL 12/1 because
 *     WELCOME             KNOWN 12/1 3 keep  KNOWN 12/2 0 void
 *     REFUSED secret      BYE why            CLOSED
 *
 * A puppet keeps no journal: the test numbers the records.
 */
#ifndef TAILRACE_TESTS_SUPPORT_PUPPET_H
#define TAILRACE_TESTS_SUPPORT_PUPPET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/io/loop.h"
#include "master/registry.h"
#include "proto/codec.h"
#include "proto/msg.h"

struct puppet;

struct puppet_hello {
    const char *name;
    const char *boot_id; /* NULL: the name */
    const char *secret;  /* NULL: none */
    uint32_t slots;      /* 0: one */
    bool draining;
    const struct msg_held *held;
    size_t n_held;
};

/* Dials, and says HELLO once the loop runs. */
struct puppet *puppet_new(struct loop *loop, struct registry *registry,
                          const struct puppet_hello *hello);
/* Dials, and says nothing. */
struct puppet *puppet_new_silent(struct loop *loop, struct registry *registry);
/* The connection must be closed. */
void puppet_free(struct puppet *puppet);

bool puppet_is_ready(const struct puppet *puppet); /* was welcomed, and is connected */
bool puppet_is_closed(const struct puppet *puppet);
/* Whether the line was heard since puppet_clear(). */
bool puppet_heard(const struct puppet *puppet, const char *line);
/* All lines, each ended by a newline. */
const char *puppet_lines(const struct puppet *puppet);
void puppet_clear(struct puppet *puppet);
/* The newest START; good until the next one or puppet_free(). NULL before the first. */
const struct msg_start *puppet_start(struct puppet *puppet);

/* Sends one record of an attempt; at once when there is credit, else when there is some again. */
void puppet_record(struct puppet *puppet, uint64_t build, uint32_t attempt, uint64_t number,
                   const struct msg *record);
void puppet_send(struct puppet *puppet, const struct msg *msg);
/* Sends bytes as they are. */
void puppet_send_raw(struct puppet *puppet, const char *bytes, size_t n);
/* Records that wait for credit. */
size_t puppet_waiting(const struct puppet *puppet);

/* From now on nothing that it says arrives, as if its cable were pulled; and back. */
void puppet_mute(struct puppet *puppet, bool on);
/* From now on it hears nothing, as if it did not read; and back. */
void puppet_deafen(struct puppet *puppet, bool on);
/* After so many more bytes from the slave both ends fail. */
void puppet_cut(struct puppet *puppet, size_t after_bytes);
void puppet_close(struct puppet *puppet); /* the slave closes */

#endif
