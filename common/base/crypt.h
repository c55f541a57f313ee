/*
 * Hashes, codes and random bytes, from OpenSSL's libcrypto.
 */
#ifndef TAILRACE_COMMON_BASE_CRYPT_H
#define TAILRACE_COMMON_BASE_CRYPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/str.h"

enum { CRYPT_SHA256_BYTES = 32, CRYPT_SHA256_HEX = 65 };

/* Fills out with n bytes fit for keys; aborts when the system has none. */
void crypt_random(void *out, size_t n);
void crypt_sha256(struct view data, uint8_t out[CRYPT_SHA256_BYTES]);
/* HMAC-SHA256 (RFC 2104). */
void crypt_hmac_sha256(struct view key, struct view data, uint8_t out[CRYPT_SHA256_BYTES]);
/* In constant time. */
bool crypt_equal(const void *a, const void *b, size_t n);
/* Lower-case hexadecimal of n bytes and a NUL into out[2 * n + 1]. */
void crypt_hex(const void *bytes, size_t n, char *out);

/* Hashing in pieces. */
struct crypt_sha256_state;
struct crypt_sha256_state *crypt_sha256_new(void);
void crypt_sha256_add(struct crypt_sha256_state *state, struct view data);
/* Writes the digest and frees the state. */
void crypt_sha256_finish(struct crypt_sha256_state *state, uint8_t out[CRYPT_SHA256_BYTES]);

#endif
