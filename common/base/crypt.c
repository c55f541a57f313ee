#include "common/base/crypt.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/mem.h"

struct crypt_sha256_state {
    EVP_MD_CTX *ctx;
};

/* libcrypto only fails here without memory or without its own algorithms: nothing to go on with. */
static void must(bool worked, const char *what)
{
    if (worked)
        return;
    (void)fprintf(stderr, "tailrace: libcrypto cannot do %s\n", what);
    abort();
}

void crypt_random(void *out, size_t n)
{
    unsigned char *p = out;

    while (n > 0) {
        int piece = n > INT_MAX ? INT_MAX : (int)n;

        must(RAND_bytes(p, piece) == 1, "random bytes");
        p += piece;
        n -= (size_t)piece;
    }
}

void crypt_sha256(struct view data, uint8_t out[CRYPT_SHA256_BYTES])
{
    must(EVP_Digest(data.n ? data.p : "", data.n, out, NULL, EVP_sha256(), NULL) == 1, "SHA-256");
}

void crypt_hmac_sha256(struct view key, struct view data, uint8_t out[CRYPT_SHA256_BYTES])
{
    unsigned n = 0;

    must(key.n <= INT_MAX, "HMAC with a key this long");
    must(HMAC(EVP_sha256(), key.n ? key.p : "", (int)key.n,
              (const unsigned char *)(data.n ? data.p : ""), data.n, out, &n) != NULL,
         "HMAC-SHA256");
}

bool crypt_equal(const void *a, const void *b, size_t n)
{
    return n == 0 || CRYPTO_memcmp(a, b, n) == 0;
}

void crypt_hex(const void *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *p = bytes;

    for (size_t i = 0; i < n; i++) {
        out[2 * i] = digits[p[i] >> 4];
        out[2 * i + 1] = digits[p[i] & 15];
    }
    out[2 * n] = '\0';
}

struct crypt_sha256_state *crypt_sha256_new(void)
{
    struct crypt_sha256_state *state = xcalloc(1, sizeof *state);

    state->ctx = EVP_MD_CTX_new();
    must(state->ctx && EVP_DigestInit_ex(state->ctx, EVP_sha256(), NULL) == 1, "SHA-256");
    return state;
}

void crypt_sha256_add(struct crypt_sha256_state *state, struct view data)
{
    if (data.n > 0)
        must(EVP_DigestUpdate(state->ctx, data.p, data.n) == 1, "SHA-256");
}

void crypt_sha256_finish(struct crypt_sha256_state *state, uint8_t out[CRYPT_SHA256_BYTES])
{
    must(EVP_DigestFinal_ex(state->ctx, out, NULL) == 1, "SHA-256");
    EVP_MD_CTX_free(state->ctx);
    free(state);
}
