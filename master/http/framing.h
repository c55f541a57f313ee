/*
 * framing: what a request's headers say about where its body ends and whom it is for, and whether
 * that can be read in one way only. A message that two programs would cut differently is how one
 * person's request is smuggled into another's. Pure.
 */
#ifndef TAILRACE_MASTER_HTTP_FRAMING_H
#define TAILRACE_MASTER_HTTP_FRAMING_H

#include <stdbool.h>
#include <stdint.h>

enum { FRAMING_ONCE = 5 };

/* Filled by framing_add(); of its fields only these are for others. */
struct framing {
    uint64_t length; /* Content-Length; 0 without */
    bool expect;     /* Expect was sent */

    unsigned lengths, codings, hosts, seen[FRAMING_ONCE];
    bool bad_name, bad_length, bad_coding, bad_host, doubled;
};

#define FRAMING_INIT                                                                               \
    {                                                                                              \
        .length = 0                                                                                \
    }

/* One header, as it came. */
void framing_add(struct framing *framing, const char *name, const char *value);
/* Why the message must be refused, a constant sentence, or NULL. */
const char *framing_fault(const struct framing *framing, bool needs_host);

#endif
