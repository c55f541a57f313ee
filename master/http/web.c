#include "master/http/web.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "master/http/site.h"

struct web {
    struct site site;
    struct mailbox mailbox; /* from the master's loop */
    struct mail stop;
    uv_thread_t thread;
    uint16_t port;
};

static void deliver_event(struct mail *mail, void *receiver)
{
    struct event *event = (struct event *)mail;
    struct web *web = receiver;

    if (!web->site.stopping)
        site_event(&web->site, event);
    event_free(event);
}

static void deliver_answer(struct mail *mail, void *receiver)
{
    struct command *command = (struct command *)mail;

    (void)receiver;
    command->answered(command, command->asker);
}

static void on_site_closed(void *arg)
{
    struct web *web = arg;

    mailbox_close(&web->mailbox, NULL);
}

static void deliver_stop(struct mail *mail, void *receiver)
{
    struct web *web = receiver;

    (void)mail;
    site_close(&web->site, on_site_closed, web);
}

static void web_run(void *arg)
{
    struct web *web = arg;

    loop_run(&web->site.loop); /* until the site and the mailbox have closed */
}

static enum err_code web_open(struct web *web, const struct web_config *config, struct err *err)
{
    struct loop *loop = &web->site.loop;
    enum err_code rc = loop_init(loop, clock_system(), err);

    if (rc)
        return rc;
    rc = site_open(&web->site, config, err);
    if (rc)
        loop_release(loop);
    return rc;
}

enum err_code web_start(const struct web_config *config, struct web **out, struct err *err)
{
    struct web *web = xcalloc(1, sizeof *web);
    enum err_code rc = web_open(web, config, err);

    if (rc) {
        free(web);
        return rc;
    }
    mailbox_open(&web->mailbox, &web->site.loop, web);
    web->port = server_port(web->site.server);
    /* Fails only when the process may have no more threads: nothing can be done without this one.
     */
    if (uv_thread_create(&web->thread, web_run, web)) {
        log_error("web.thread");
        abort();
    }
    *out = web;
    return ERR_OK;
}

uint16_t web_port(const struct web *web)
{
    return web->port;
}

void web_post_event(struct web *web, struct event *event)
{
    event->mail.deliver = deliver_event;
    mailbox_post(&web->mailbox, &event->mail);
}

void web_post_answer(struct web *web, struct command *command)
{
    command->mail.deliver = deliver_answer;
    mailbox_post(&web->mailbox, &command->mail);
}

void web_stop(struct web *web)
{
    web->stop.deliver = deliver_stop;
    mailbox_post(&web->mailbox, &web->stop);
    (void)uv_thread_join(&web->thread);
    loop_release(&web->site.loop);
    site_release(&web->site);
    free(web);
}
