/*
 * agent: one connection of a slave, from the first byte to the last. Takes HELLO to the registry,
 * records to their attempts, ACKs back. Loop thread.
 */
#ifndef TAILRACE_MASTER_AGENT_H
#define TAILRACE_MASTER_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "common/io/stream.h"
#include "common/io/timer.h"
#include "master/hub.h"
#include "proto/link.h"

struct attempt;
struct registry;
struct slave;

/* What HELLO said; texts owned. */
struct agent_hello {
    char *name, *boot_id, *version, *platform;
    uint32_t slots;
    bool draining;
    struct msg_held *held; /* freed after WELCOME */
    size_t n_held;
};

struct agent {
    struct registry *registry;
    struct hub *hub;
    struct link *link;
    uint64_t serial; /* never used twice */
    struct agent_hello hello;
    struct slave *slave;      /* set once it is the slave's connection */
    struct attempt *attempts; /* that it runs now */
    struct timer rival_timer; /* waits for the earlier connection's sign of life */
    bool ack_due;             /* in the registry's list */
    bool challenged;          /* asked for a proof of its secret, and has not given it */
    bool closing;
    bool displaced; /* by a newer connection, when there were too many */
    struct agent *ack_next;
    UT_hash_handle hh; /* by serial */
};

/* Takes over the stream. Lives until the connection is closed; registry_lost() is called before it
 * is freed. */
struct agent *agent_new(struct registry *registry, struct hub *hub, uint64_t serial,
                        struct stream *stream);
const char *agent_name(const struct agent *agent);
uint64_t agent_serial(const struct agent *agent);
/* The registry has decided: WELCOME with an answer for each attempt that the slave holds; or
 * REFUSED. */
void agent_welcome(struct agent *agent);
void agent_refuse(struct agent *agent, const char *code, uint64_t retry_ms, const char *fmt, ...)
    TAILRACE_PRINTF(4, 5);
void agent_close(struct agent *agent, enum err_code code, const char *why);

void agent_send(struct agent *agent, const struct msg *msg);
/* FORGET: kill it and say no more. */
void agent_forget(struct agent *agent, uint64_t build, uint32_t attempt);
/* Attempts that run there: takes and gives back a slot. */
void agent_add(struct agent *agent, struct attempt *attempt);
void agent_remove(struct agent *agent, struct attempt *attempt);
uint32_t agent_running(const struct agent *agent);
/* Something became durable: ACKs go out at the end of the store's batch (agent_send_acks). */
void agent_ack_later(struct agent *agent);
void agent_send_acks(struct agent *agent);
/* The receiver is done with so many bytes. */
void agent_granted(struct agent *agent, size_t bytes);

#endif
