/*
 * proof: the codes by which both sides of a handshake show that they know the slave's secret
 * without sending it. Pure.
 */
#ifndef TAILRACE_PROTO_PROOF_H
#define TAILRACE_PROTO_PROOF_H

#include <stdint.h>

#include "common/base/crypt.h"
#include "common/base/str.h"

enum { PROOF_BYTES = CRYPT_SHA256_BYTES, PROOF_NONCE_BYTES = 32 };

/* What both codes are made of. name and boot_id are the slave's, from HELLO, and hold no NUL. */
struct proof_facts {
    uint8_t slave_nonce[PROOF_NONCE_BYTES];  /* HELLO.nonce */
    uint8_t master_nonce[PROOF_NONCE_BYTES]; /* CHALLENGE.nonce */
    struct view name, boot_id;
};

/* PROOF.mac */
void proof_of_slave(const struct proof_facts *facts, struct view secret, uint8_t mac[PROOF_BYTES]);
/* WELCOME.mac */
void proof_of_master(const struct proof_facts *facts, struct view secret, uint8_t mac[PROOF_BYTES]);

#endif
