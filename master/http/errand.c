#include "master/http/errand.h"

#include <stdlib.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "master/http/answer.h"
#include "master/http/site.h"

struct errand {
    struct site *site;
    struct request *request; /* NULL: nobody waits any more */
    struct errand_order order;
    struct timer deadline;
    struct errand *prev, *next;
};

static void errand_forget_request(struct errand *errand)
{
    timer_stop(&errand->deadline);
    if (errand->request)
        request_on_gone(errand->request, NULL, NULL);
    errand->request = NULL;
}

static void on_gone(void *arg)
{
    errand_forget_request(arg);
}

static void on_late(struct timer *timer, void *owner)
{
    struct errand *errand = owner;
    struct request *request = errand->request;

    (void)timer;
    errand_forget_request(errand);
    answer_error(request, 503, "timeout", "%s", errand->order.late);
}

static void on_answered(struct command *command, void *asker)
{
    struct errand *errand = asker;
    struct request *request = errand->request;

    errand_forget_request(errand);
    if (request)
        errand->order.answer(errand->site, request, command);
    command_free(command);
    DL_DELETE(errand->site->errands.list, errand);
    free(errand);
}

void errand_send(struct site *site, struct request *request, const struct errand_order *order)
{
    struct errand *errand = xcalloc(1, sizeof *errand);

    *errand = (struct errand){.site = site, .request = request, .order = *order};
    timer_init(&errand->deadline, &site->loop, on_late, errand);
    timer_start(&errand->deadline, order->wait_ms, 0);
    request_on_gone(request, on_gone, errand);
    DL_APPEND(site->errands.list, errand);
    order->command->answered = on_answered;
    order->command->asker = errand;
    site->ask(site->owner, order->command);
}

void errands_stop(struct errands *errands)
{
    struct errand *errand;

    DL_FOREACH (errands->list, errand) {
        struct request *request = errand->request;

        errand_forget_request(errand);
        if (request)
            answer_error(request, 503, "cancelled", "the master is stopping");
    }
}

void errands_release(struct errands *errands)
{
    struct errand *errand, *next;

    DL_FOREACH_SAFE (errands->list, errand, next) {
        DL_DELETE(errands->list, errand);
        free(errand);
    }
}
