/*
 * uplink: the slave's connection to its master. Dials, proves itself, says which attempts are held,
 * sends the records of all journals in turn while the master has room for them, and comes back
 * after any break: the wait doubles up to a cap and is drawn at random below it, so that the slaves
 * of a restarted master do not come all at once.
 *
 *   WAITING -> DIALING -> HANDSHAKE -> READY -> WAITING ...        any -> STOPPED
 *
 * Callbacks come from the loop only. They may call uplink_ functions except uplink_free().
 */
#ifndef TAILRACE_SLAVE_UPLINK_H
#define TAILRACE_SLAVE_UPLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/io/dialer.h"
#include "common/io/loop.h"
#include "proto/msg.h"
#include "slave/facts.h"
#include "slave/spool.h"

enum {
    UPLINK_BACKOFF_FIRST_MS = 250,
    UPLINK_SETTLED_MS =
        5000, /* a connection that lasted so long was a success: waits begin small again */
    UPLINK_DIAL_MS = 10000,
    UPLINK_REFUSED_MS = 30000,      /* the wait after a refusal that asks for none */
    UPLINK_REFUSED_MAX_MS = 600000, /* the longest wait that a refusal may ask for */
    UPLINK_BYE_MS = 500,
};

enum uplink_state {
    UPLINK_WAITING,
    UPLINK_DIALING,
    UPLINK_HANDSHAKE,
    UPLINK_READY,
    UPLINK_STOPPED,
};

struct uplink;

/* Borrowed for the uplink's life. */
struct uplink_config {
    const char *host;
    uint16_t port;
    const char *secret_file; /* read again for each try; NULL: none */
    const char *name;
    const char *boot_id;
    uint32_t slots;
    const struct facts *facts;
    uint64_t backoff_max_ms;
    /* NULL: dialer_start(), dialer_cancel() and crypt_random(). */
    struct dialer *(*dial)(struct loop *loop, const char *host, uint16_t port, uint64_t timeout_ms,
                           dialer_done done, void *owner);
    void (*dial_cancel)(struct dialer *dialer);
    void (*random)(void *out, size_t n);
};

struct uplink_ops {
    /* READY, the journals stand where the master wants them. */
    void (*on_ready)(void *owner);
    void (*on_start)(void *owner, const struct msg_start *start);
    void (*on_cancel)(void *owner, uint64_t build, uint32_t attempt, struct view reason);
    /* The attempt no longer counts: drop its journal (now or later). */
    void (*on_forget)(void *owner, uint64_t build, uint32_t attempt);
    /* The master has more of a journal than before. */
    void (*on_acked)(void *owner);
    void (*on_stopped)(void *owner);
};

struct uplink *uplink_new(struct loop *loop, const struct uplink_config *config,
                          struct spool *spool, const struct uplink_ops *ops, void *owner);
/* STOPPED, or never started. NULL allowed. */
void uplink_free(struct uplink *uplink);
/* The first try, at once. */
void uplink_start(struct uplink *uplink);
enum uplink_state uplink_state(const struct uplink *uplink);
/* A journal has something to send. */
void uplink_kick(struct uplink *uplink);
/* Tells the master, now and at every later connection. */
void uplink_drain(struct uplink *uplink);
/* Breaks the connection, so that the next HELLO says what is held now. */
void uplink_reconnect(struct uplink *uplink, const struct err *why);
/* Says goodbye and ends; on_stopped comes within UPLINK_BYE_MS. */
void uplink_stop(struct uplink *uplink, const char *reason);

#endif
