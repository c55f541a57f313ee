#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "common/io/mailbox.h"

enum { SENDERS = 4, EACH = 5000 };

struct letter {
    struct mail mail;
    int sender, number;
};

struct office {
    struct loop loop;
    struct mailbox box;
    int next[SENDERS]; /* what number each sender's next letter must have */
    int got, closed;
    bool close_on_first;
};

static void on_closed(void *receiver)
{
    ((struct office *)receiver)->closed++;
}

static void deliver(struct mail *mail, void *receiver)
{
    struct letter *letter = (struct letter *)mail;
    struct office *office = receiver;

    assert_int_equal(office->closed, 0);
    assert_int_equal(letter->number, office->next[letter->sender]++);
    free(letter);
    if (++office->got == SENDERS * EACH || (office->got == 1 && office->close_on_first))
        mailbox_close(&office->box, on_closed);
}

static struct mail *letter_new(int sender, int number)
{
    struct letter *letter = xcalloc(1, sizeof *letter);

    letter->mail.deliver = deliver;
    letter->sender = sender;
    letter->number = number;
    return &letter->mail;
}

struct sender {
    uv_thread_t thread;
    struct office *office;
    int id;
};

static void send_all(void *arg)
{
    struct sender *sender = arg;
    int i;

    for (i = 0; i < EACH; i++)
        mailbox_post(&sender->office->box, letter_new(sender->id, i));
}

static void order_of_each_sender_is_kept(void **state)
{
    struct sender senders[SENDERS];
    struct office office = {.got = 0};
    int i;

    (void)state;
    assert_int_equal(loop_init(&office.loop, clock_system(), NULL), ERR_OK);
    mailbox_open(&office.box, &office.loop, &office);
    for (i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){.office = &office, .id = i};
        assert_int_equal(uv_thread_create(&senders[i].thread, send_all, &senders[i]), 0);
    }
    loop_run(&office.loop);
    for (i = 0; i < SENDERS; i++) {
        assert_int_equal(uv_thread_join(&senders[i].thread), 0);
        assert_int_equal(office.next[i], EACH);
    }
    assert_int_equal(office.closed, 1);
    loop_release(&office.loop);
}

static void close_delivers_what_is_left(void **state)
{
    struct office office = {.close_on_first = true};
    int i;

    (void)state;
    assert_int_equal(loop_init(&office.loop, clock_system(), NULL), ERR_OK);
    mailbox_open(&office.box, &office.loop, &office);
    for (i = 0; i < 5; i++)
        mailbox_post(&office.box, letter_new(0, i));
    assert_int_equal(office.got, 0);
    loop_run(&office.loop);
    assert_int_equal(office.got, 5);
    assert_int_equal(office.closed, 1);
    loop_release(&office.loop);
}

static void close_before_the_first_pass_delivers(void **state)
{
    struct office office = {.got = 1}; /* so that no letter is the first */

    (void)state;
    assert_int_equal(loop_init(&office.loop, clock_system(), NULL), ERR_OK);
    mailbox_open(&office.box, &office.loop, &office);
    mailbox_post(&office.box, letter_new(2, 0));
    mailbox_close(&office.box, on_closed);
    assert_int_equal(office.closed, 0);
    loop_run(&office.loop);
    assert_int_equal(office.got, 2);
    assert_int_equal(office.closed, 1);
    loop_release(&office.loop);
}

static void take_all(void *arg)
{
    struct mail_queue *queue = arg;
    int expected = 0;
    struct mail *mail;

    while ((mail = mail_queue_take(queue)) != NULL) {
        while (mail) {
            struct letter *letter = (struct letter *)mail;

            mail = mail->next;
            assert_int_equal(letter->number, expected++);
            free(letter);
        }
    }
    assert_int_equal(expected, EACH);
}

static void thread_takes_until_closed(void **state)
{
    struct mail_queue queue;
    uv_thread_t thread;
    int i;

    (void)state;
    mail_queue_init(&queue);
    assert_int_equal(uv_thread_create(&thread, take_all, &queue), 0);
    for (i = 0; i < EACH; i++)
        (void)mail_queue_post(&queue, letter_new(0, i));
    mail_queue_close(&queue);
    assert_int_equal(uv_thread_join(&thread), 0);
    mail_queue_release(&queue);
}

static void poll_does_not_wait(void **state)
{
    struct mail_queue queue;
    struct mail *all;

    (void)state;
    mail_queue_init(&queue);
    assert_null(mail_queue_poll(&queue));
    assert_int_equal(mail_queue_post(&queue, letter_new(0, 0)), 1);
    assert_int_equal(mail_queue_post(&queue, letter_new(0, 1)), 2);
    all = mail_queue_poll(&queue);
    assert_non_null(all);
    assert_non_null(all->next);
    assert_null(all->next->next);
    assert_null(mail_queue_poll(&queue));
    free(all->next);
    free(all);
    mail_queue_release(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_each_sender_is_kept),
        cmocka_unit_test(close_delivers_what_is_left),
        cmocka_unit_test(close_before_the_first_pass_delivers),
        cmocka_unit_test(thread_takes_until_closed),
        cmocka_unit_test(poll_does_not_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
