#include "common/io/mailbox.h"

#include <assert.h>
#include <stdlib.h>

void mail_queue_init(struct mail_queue *queue)
{
    *queue = (struct mail_queue){.n = 0};
    queue->tail = &queue->head;
    if (uv_mutex_init(&queue->mutex) || uv_cond_init(&queue->filled))
        abort();
}

void mail_queue_release(struct mail_queue *queue)
{
    assert(!queue->head);
    uv_cond_destroy(&queue->filled);
    uv_mutex_destroy(&queue->mutex);
}

size_t mail_queue_post(struct mail_queue *queue, struct mail *mail)
{
    size_t n;

    mail->next = NULL;
    uv_mutex_lock(&queue->mutex);
    *queue->tail = mail;
    queue->tail = &mail->next;
    n = ++queue->n;
    uv_cond_signal(&queue->filled);
    uv_mutex_unlock(&queue->mutex);
    return n;
}

/* With the mutex held. */
static struct mail *mail_queue_empty(struct mail_queue *queue)
{
    struct mail *all = queue->head;

    queue->head = NULL;
    queue->tail = &queue->head;
    queue->n = 0;
    return all;
}

struct mail *mail_queue_take(struct mail_queue *queue)
{
    struct mail *all;

    uv_mutex_lock(&queue->mutex);
    while (!queue->head && !queue->closed)
        uv_cond_wait(&queue->filled, &queue->mutex);
    all = mail_queue_empty(queue);
    uv_mutex_unlock(&queue->mutex);
    return all;
}

struct mail *mail_queue_poll(struct mail_queue *queue)
{
    struct mail *all;

    uv_mutex_lock(&queue->mutex);
    all = mail_queue_empty(queue);
    uv_mutex_unlock(&queue->mutex);
    return all;
}

void mail_queue_close(struct mail_queue *queue)
{
    uv_mutex_lock(&queue->mutex);
    queue->closed = true;
    uv_cond_broadcast(&queue->filled);
    uv_mutex_unlock(&queue->mutex);
}

static void mailbox_deliver(struct mailbox *mailbox)
{
    struct mail *mail = mail_queue_poll(&mailbox->queue);

    while (mail) {
        struct mail *next = mail->next;

        mail->deliver(mail, mailbox->receiver);
        mail = next;
    }
}

static void mailbox_on_wake(uv_async_t *wake)
{
    mailbox_deliver(wake->data);
}

void mailbox_open(struct mailbox *mailbox, struct loop *loop, void *receiver)
{
    mail_queue_init(&mailbox->queue);
    mailbox->receiver = receiver;
    mailbox->on_closed = NULL;
    /* Fails only when the process has no descriptor left for the loop's one wake-up pipe. */
    if (uv_async_init(&loop->uv, &mailbox->wake, mailbox_on_wake))
        abort();
    mailbox->wake.data = mailbox;
}

void mailbox_post(struct mailbox *mailbox, struct mail *mail)
{
    /* Whoever finds mail already waiting knows that the loop was woken for it and has not taken it
     * yet. */
    if (mail_queue_post(&mailbox->queue, mail) == 1)
        (void)uv_async_send(&mailbox->wake);
}

static void mailbox_on_handle_closed(uv_handle_t *handle)
{
    struct mailbox *mailbox = handle->data;

    /* Mail that is delivered here may post more. */
    while (mailbox->queue.n > 0)
        mailbox_deliver(mailbox);
    mail_queue_release(&mailbox->queue);
    if (mailbox->on_closed)
        mailbox->on_closed(mailbox->receiver);
}

void mailbox_close(struct mailbox *mailbox, void (*on_closed)(void *receiver))
{
    mailbox->on_closed = on_closed;
    uv_close((uv_handle_t *)&mailbox->wake, mailbox_on_handle_closed);
}
