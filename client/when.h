/*
 * when: times of the API read, and told the way people tell them. Pure.
 */
#ifndef TAILRACE_CLIENT_WHEN_H
#define TAILRACE_CLIENT_WHEN_H

#include <stdint.h>

enum { WHEN_MAX = 40 };

/* Milliseconds since 1970 of an RFC 3339 time in UTC ("2026-01-30T11:34:00.000Z"); -1 for NULL and
 * for anything else. */
int64_t when_parse(const char *text);

/* "just now", "12 s ago", "3 min ago", "5 h ago", "2 days ago", "in 3 min"; "-" when then_ms is -1.
 * Writes into out, returns out. */
const char *when_ago(int64_t then_ms, int64_t now_ms, char out[WHEN_MAX]);

/* Of a slave: "connected 53 s", or "seen 63 s ago" when it is not connected (connected_ms is -1),
 * or "never seen". */
const char *when_contact(int64_t connected_ms, int64_t seen_ms, int64_t now_ms, char out[WHEN_MAX]);

/* A time span of seconds as the API gives it: "0.4 s", "12 s", "3 min 04 s", "2 h 05 min"; "-" when
 * negative. */
const char *when_span(double seconds, char out[WHEN_MAX]);
/* The span between two times in ms; "-" when one is missing (-1). */
const char *when_between(int64_t from_ms, int64_t to_ms, char out[WHEN_MAX]);

#endif
