/*
 * recorder: one attempt's way into its journal. Records go in in the order they were put; what the
 * disk does not take waits here and is tried again every second, log blocks are refused meanwhile,
 * so that their source is held back and nothing is dropped. Only when the disk stays full is the
 * running step ended for it, and what its log lacks then is thrown away.
 */
#ifndef TAILRACE_SLAVE_RECORDER_H
#define TAILRACE_SLAVE_RECORDER_H

#include <stdbool.h>

#include "common/io/loop.h"
#include "proto/msg.h"
#include "slave/spool.h"

enum {
    RECORDER_RETRY_MS = 1000,
    RECORDER_PATIENCE_MS = 60 * 1000, /* of a full disk, before the running step is ended for it */
};

struct recorder;

struct recorder_ops {
    /* Blocks may be offered again. From the loop, and from recorder_retry(). */
    void (*on_room)(void *owner);
    /* The disk has taken nothing for RECORDER_PATIENCE_MS; once until it takes something again. The
     * running step is to be ended: until its STEP_FINISHED is put, its blocks are taken and thrown
     * away. From the loop; on_room follows. */
    void (*on_disk_full)(void *owner, const char *why);
};

struct recorder *recorder_new(struct loop *loop, struct journal *journal,
                              const struct recorder_ops *ops, void *owner);
void recorder_free(struct recorder *recorder); /* NULL allowed; what waits is dropped */
/* Any record but a LOG_BLOCK. Copied when it must wait, but for the texts of points, which must
 * outlive the recorder. */
void recorder_put(struct recorder *recorder, const struct msg *record);
/* A LOG_BLOCK. False: no room now; on_room follows. */
bool recorder_block(struct recorder *recorder, const struct msg *block);
/* Whether all that was put is in the journal. */
bool recorder_is_clear(const struct recorder *recorder);
/* The spool has room again. */
void recorder_retry(struct recorder *recorder);
/* From here on everything is taken and thrown away; the journal is not touched again. */
void recorder_mute(struct recorder *recorder);

#endif
