#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "common/base/crypt.h"

static void assert_hex(const uint8_t digest[CRYPT_SHA256_BYTES], const char *expected)
{
    char hex[CRYPT_SHA256_HEX];

    crypt_hex(digest, CRYPT_SHA256_BYTES, hex);
    assert_string_equal(hex, expected);
}

/* FIPS 180-2, appendix B. */
static void sha256_known_answers(void **state)
{
    uint8_t digest[CRYPT_SHA256_BYTES];

    (void)state;
    crypt_sha256(view_of("abc"), digest);
    assert_hex(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    crypt_sha256(view_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), digest);
    assert_hex(digest, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    crypt_sha256(VIEW_NULL, digest);
    assert_hex(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void pieces_give_the_same(void **state)
{
    struct crypt_sha256_state *hash = crypt_sha256_new();
    uint8_t digest[CRYPT_SHA256_BYTES];

    (void)state;
    crypt_sha256_add(hash, view_of("a"));
    crypt_sha256_add(hash, VIEW_NULL);
    crypt_sha256_add(hash, view_of("bc"));
    crypt_sha256_finish(hash, digest);
    assert_hex(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* RFC 4231, test cases 1, 2 and 6 (a key longer than a block). */
static void hmac_known_answers(void **state)
{
    uint8_t digest[CRYPT_SHA256_BYTES];
    char key[131];

    (void)state;
    memset(key, 0x0b, 20);
    crypt_hmac_sha256(view_bytes(key, 20), view_of("Hi There"), digest);
    assert_hex(digest, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    crypt_hmac_sha256(view_of("Jefe"), view_of("what do ya want for nothing?"), digest);
    assert_hex(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    crypt_hmac_sha256(view_bytes(key, sizeof key),
                      view_of("Test Using Larger Than Block-Size Key - Hash Key First"), digest);
    assert_hex(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void an_empty_key_is_not_the_last_one(void **state)
{
    uint8_t digest[CRYPT_SHA256_BYTES];

    (void)state;
    crypt_hmac_sha256(view_of("Jefe"), view_of("x"), digest);
    crypt_hmac_sha256(VIEW_NULL, VIEW_NULL, digest);
    assert_hex(digest, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void compares_and_draws(void **state)
{
    uint8_t a[64] = {0};
    uint8_t b[64] = {0};

    (void)state;
    assert_true(crypt_equal(a, b, sizeof a));
    crypt_random(a, sizeof a);
    crypt_random(b, sizeof b);
    assert_false(crypt_equal(a, b, sizeof a));
    assert_true(crypt_equal(a, b, 0));
    memcpy(b, a, sizeof a);
    b[63] ^= 1;
    assert_true(crypt_equal(a, b, 63));
    assert_false(crypt_equal(a, b, 64));
}

static void hex_of_nothing(void **state)
{
    char out[1] = {'x'};

    (void)state;
    crypt_hex("", 0, out);
    assert_int_equal(out[0], '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_known_answers), cmocka_unit_test(pieces_give_the_same),
        cmocka_unit_test(hmac_known_answers),   cmocka_unit_test(an_empty_key_is_not_the_last_one),
        cmocka_unit_test(compares_and_draws),   cmocka_unit_test(hex_of_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
