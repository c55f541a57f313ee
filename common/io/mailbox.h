/*
 * mailbox: how threads hand each other owned messages; no other lock guards anything. A message
 * embeds a struct mail; post moves it to the receiver's side, which owns it from then on. Order of
 * one sender is kept.
 *
 * Two kinds of receiver: a loop (mailbox_open: delivered from the loop, in batches), and a plain
 * thread that waits for work (mail_queue_take).
 */
#ifndef TAILRACE_COMMON_IO_MAILBOX_H
#define TAILRACE_COMMON_IO_MAILBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "common/io/loop.h"

struct mail {
    struct mail *next;
    /* Called on the receiver's side for mail that a loop receives; owns mail from here. */
    void (*deliver)(struct mail *mail, void *receiver);
};

/* The plain queue. */
struct mail_queue {
    uv_mutex_t mutex;
    uv_cond_t filled;
    struct mail *head, **tail;
    size_t n;
    bool closed;
};

void mail_queue_init(struct mail_queue *queue);
void mail_queue_release(struct mail_queue *queue); /* must be empty */
/* From any thread. Returns the queue's length after it. */
size_t mail_queue_post(struct mail_queue *queue, struct mail *mail);
/* Takes all that is there, oldest first, as a list by next; waits for some when there is none. NULL
 * only after mail_queue_close() and when empty. */
struct mail *mail_queue_take(struct mail_queue *queue);
/* As mail_queue_take, but gives NULL instead of waiting. */
struct mail *mail_queue_poll(struct mail_queue *queue);
void mail_queue_close(struct mail_queue *queue);

/* The receiver on a loop. */
struct mailbox {
    struct mail_queue queue;
    uv_async_t wake;
    void *receiver;
    void (*on_closed)(void *receiver);
};

/* receiver is passed to each mail's deliver. */
void mailbox_open(struct mailbox *mailbox, struct loop *loop, void *receiver);
/* From any thread, until mailbox_close(). */
void mailbox_post(struct mailbox *mailbox, struct mail *mail);
/* From the loop's thread, when no sender is left; delivers what is still there, then calls
 * on_closed (may be NULL) from the loop. */
void mailbox_close(struct mailbox *mailbox, void (*on_closed)(void *receiver));

#endif
