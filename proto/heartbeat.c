#include "proto/heartbeat.h"

#include <string.h>

void heartbeat_init(struct heartbeat *hb, uint64_t ping_after_ms, uint64_t drop_after_ms,
                    uint64_t now_ms)
{
    memset(hb, 0, sizeof *hb);
    hb->ping_after_ms = ping_after_ms;
    hb->drop_after_ms = drop_after_ms;
    hb->last_rx_ms = now_ms;
}

void heartbeat_seen(struct heartbeat *hb, uint64_t now_ms)
{
    hb->last_rx_ms = now_ms;
    hb->probe_until_ms = 0;
    hb->ping_sent = false;
}

void heartbeat_probe(struct heartbeat *hb, uint64_t now_ms, uint64_t wait_ms)
{
    /* A second doubt does not lengthen the first. */
    if (!hb->probe_until_ms || now_ms + wait_ms < hb->probe_until_ms)
        hb->probe_until_ms = now_ms + wait_ms;
    hb->ping_sent = true;
}

static uint64_t drop_at_ms(const struct heartbeat *hb)
{
    uint64_t at_ms = hb->last_rx_ms + hb->drop_after_ms;

    return hb->probe_until_ms && hb->probe_until_ms < at_ms ? hb->probe_until_ms : at_ms;
}

enum beat_action heartbeat_tick(struct heartbeat *hb, uint64_t now_ms)
{
    if (now_ms >= drop_at_ms(hb))
        return BEAT_DROP;
    if (now_ms < hb->last_rx_ms + hb->ping_after_ms || hb->ping_sent)
        return BEAT_NONE;
    hb->ping_sent = true;
    return BEAT_PING;
}

uint64_t heartbeat_next_ms(const struct heartbeat *hb)
{
    uint64_t ping_at_ms = hb->last_rx_ms + hb->ping_after_ms;
    uint64_t at_ms = drop_at_ms(hb);

    return hb->ping_sent || at_ms < ping_at_ms ? at_ms : ping_at_ms;
}
