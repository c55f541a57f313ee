/*
 * heartbeat: when to ask a silent peer for a sign of life, and when to give it up. Pure over
 * (event, now).
 */
#ifndef TAILRACE_PROTO_HEARTBEAT_H
#define TAILRACE_PROTO_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

enum beat_action { BEAT_NONE, BEAT_PING, BEAT_DROP };

struct heartbeat {
    uint64_t ping_after_ms, drop_after_ms; /* of silence */
    uint64_t last_rx_ms;
    uint64_t probe_until_ms; /* 0: nobody doubts the peer */
    bool ping_sent;          /* since the last sign of life */
};

void heartbeat_init(struct heartbeat *hb, uint64_t ping_after_ms, uint64_t drop_after_ms,
                    uint64_t now_ms);
/* Bytes came, whatever they say. */
void heartbeat_seen(struct heartbeat *hb, uint64_t now_ms);
/* The caller sends a PING now; without any sign of life the peer is given up after wait_ms already.
 */
void heartbeat_probe(struct heartbeat *hb, uint64_t now_ms, uint64_t wait_ms);
/* BEAT_PING is said once for each silence. */
enum beat_action heartbeat_tick(struct heartbeat *hb, uint64_t now_ms);
/* When heartbeat_tick() has something to say, if nothing comes. */
uint64_t heartbeat_next_ms(const struct heartbeat *hb);

#endif
