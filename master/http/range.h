/*
 * range: the request headers Range and Accept-Encoding, as RFC 9110 has them. Pure.
 */
#ifndef TAILRACE_MASTER_HTTP_RANGE_H
#define TAILRACE_MASTER_HTTP_RANGE_H

#include <stdbool.h>
#include <stdint.h>

enum range_kind {
    RANGE_NONE, /* none, several, or not one of bytes: answer with everything */
    RANGE_PART,
    RANGE_OUTSIDE, /* nothing of it is there: 416 */
};

/* header may be NULL. For RANGE_PART *first and *n are the bytes of it that exist. */
enum range_kind range_parse(const char *header, uint64_t size, uint64_t *first, uint64_t *n);

/* Whether the sender of Accept-Encoding (NULL: none was sent) takes gzip; q=0 is a no. */
bool range_accepts_gzip(const char *header);

#endif
