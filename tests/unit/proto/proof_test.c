#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "proto/proof.h"

/* The worked example of PROTOCOL.md; its codes were computed with another program. */
static struct proof_facts example(void)
{
    struct proof_facts facts = {
        .name = view_of("linux-01"),
        .boot_id = view_of("0192f0c1d2e3a4b5c6d7e8f901234567"),
    };

    for (int i = 0; i < PROOF_NONCE_BYTES; i++) {
        facts.slave_nonce[i] = (uint8_t)i;
        facts.master_nonce[i] = (uint8_t)(PROOF_NONCE_BYTES + i);
    }
    return facts;
}

static const char secret[] = "correct horse battery staple";

static void expect(const uint8_t mac[PROOF_BYTES], const char *hex)
{
    char shown[2 * PROOF_BYTES + 1];

    crypt_hex(mac, PROOF_BYTES, shown);
    assert_string_equal(shown, hex);
}

static void worked_example(void **state)
{
    struct proof_facts facts = example();
    uint8_t mac[PROOF_BYTES];

    (void)state;
    proof_of_slave(&facts, view_of(secret), mac);
    expect(mac, "e350df0b66f2301b4cf34d23c20ea797832c64eafcdc2848ab2984e807b01b0c");
    proof_of_master(&facts, view_of(secret), mac);
    expect(mac, "673a9aee41cd18168d2a01419511dbf463b9c210f51a6793a65809f2c3cbcc97");
}

/* Each input matters, and the two sides' codes differ even with equal nonces. */
static void every_input_matters(void **state)
{
    struct proof_facts facts[6];
    uint8_t macs[7][PROOF_BYTES];

    (void)state;
    for (int i = 0; i < 6; i++)
        facts[i] = example();
    facts[1].slave_nonce[31] ^= 1;
    facts[2].master_nonce[31] ^= 1;
    facts[3].name = view_of("linux-02");
    facts[4].boot_id = view_of("0192f0c1d2e3a4b5c6d7e8f901234568");
    memcpy(facts[5].master_nonce, facts[5].slave_nonce, PROOF_NONCE_BYTES);
    for (int i = 0; i < 6; i++)
        proof_of_slave(&facts[i], view_of(secret), macs[i]);
    proof_of_master(&facts[5], view_of(secret), macs[6]);
    for (int i = 0; i < 7; i++) {
        for (int k = 0; k < i; k++)
            assert_memory_not_equal(macs[i], macs[k], PROOF_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(every_input_matters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
