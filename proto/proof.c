#include "proto/proof.h"

#include <string.h>

enum { PROOF_TEXT_MAX = 512 }; /* two nonces and texts that messages.def limits to 64 bytes each */

/* The label comes first and ends in a NUL, so that one side's code is never the other's. */
static void make(const char *label, const uint8_t *first, const uint8_t *second,
                 const struct proof_facts *facts, struct view secret, uint8_t mac[PROOF_BYTES])
{
    struct str text = STR_INIT(PROOF_TEXT_MAX);

    str_put_view(&text, view_bytes(label, strlen(label) + 1));
    str_put_view(&text, view_bytes(first, PROOF_NONCE_BYTES));
    str_put_view(&text, view_bytes(second, PROOF_NONCE_BYTES));
    str_put_view(&text, facts->name);
    str_putc(&text, '\0');
    str_put_view(&text, facts->boot_id);
    crypt_hmac_sha256(secret, str_view(&text), mac);
    str_release(&text);
}

void proof_of_slave(const struct proof_facts *facts, struct view secret, uint8_t mac[PROOF_BYTES])
{
    make("tailrace slave", facts->master_nonce, facts->slave_nonce, facts, secret, mac);
}

void proof_of_master(const struct proof_facts *facts, struct view secret, uint8_t mac[PROOF_BYTES])
{
    make("tailrace master", facts->slave_nonce, facts->master_nonce, facts, secret, mac);
}
