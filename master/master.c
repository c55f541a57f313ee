#include "master/master.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/ident.h"
#include "common/base/json_out.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/fsx.h"
#include "common/io/listener.h"
#include "common/io/notifyd.h"
#include "common/io/proc.h"
#include "common/io/sig.h"
#include "master/builds.h"
#include "master/changes/poller.h"
#include "master/desk.h"
#include "master/http/web.h"
#include "master/hub.h"
#include "master/registry.h"
#include "master/reload.h"

enum {
    STOP_TICK_MS = 10,
    STOP_STORE_MS = 400, /* for the last batch to reach the disk */
};

struct master {
    struct loop loop;
    struct hub hub;
    struct desk *desk;
    struct web *web;
    struct poller *poller;
    struct reload *reload;
    struct listener *listener;
    struct mailbox commands;
    struct sig term, interrupt, hangup;
    struct timer stop_timer;
};

static void on_emit(void *owner, struct event *event)
{
    struct master *master = owner;

    if (master->web)
        web_post_event(master->web, event);
    else
        event_free(event);
}

static void on_answer(void *owner, struct command *command)
{
    struct master *master = owner;

    if (master->web)
        web_post_answer(master->web, command);
    else
        command_free(command);
}

static void deliver_command(struct mail *mail, void *receiver)
{
    struct master *master = receiver;

    desk_take(master->desk, (struct command *)mail);
}

/* On the web's thread. */
static void on_ask(void *owner, struct command *command)
{
    struct master *master = owner;

    command->mail.deliver = deliver_command;
    mailbox_post(&master->commands, &command->mail);
}

static void on_health(void *owner, const char *error)
{
    struct master *master = owner;
    struct event *event = event_new(EVENT_HEALTH);

    free(master->hub.store_error);
    master->hub.store_error = error ? xstrdup(error) : NULL;
    event->text = error ? xstrdup(error) : NULL;
    on_emit(master, event);
    if (error)
        log_error("store.failed", LOG_STR("error", error));
    else
        log_info("store.recovered");
    if (!error)
        builds_dispatch(master->hub.builds);
}

static void on_batch(void *owner)
{
    struct master *master = owner;

    registry_flush_acks(master->hub.registry);
}

static void on_accept(void *owner, struct stream *stream)
{
    struct master *master = owner;

    registry_accept(master->hub.registry, stream);
}

static void on_config(void *owner, const struct config_report *report)
{
    struct master *master = owner;
    struct event *event = event_new(EVENT_CONFIG);

    event->config = config_ref(master->hub.config);
    event->text = report->error ? xstrdup(report->error) : NULL;
    on_emit(master, event);
    if (report->error)
        return;
    /* Slaves first: what left the configuration gets no more of the queue. */
    registry_reconfigure(master->hub.registry, report->draining);
    builds_reconfigure(master->hub.builds);
    registry_emit_all(master->hub.registry);
    poller_reconfigure(master->poller);
    builds_dispatch(master->hub.builds);
}

static void on_reload(void *owner, struct command *command)
{
    struct master *master = owner;

    reload_begin(master->reload, command);
}

static void on_reloaded(void *owner, struct command *command)
{
    struct master *master = owner;

    if (command)
        desk_answer(master->desk, command);
}

/* Stopping: no more work is handed out; slaves keep what they run; what is posted gets to the disk.
 */

static void on_store_closed(void *owner)
{
    struct master *master = owner;

    if (master->web)
        web_stop(master->web);
    master->web = NULL;
    mailbox_close(&master->commands, NULL);
    sig_close(&master->term);
    sig_close(&master->interrupt);
    sig_close(&master->hangup);
    proc_table_close(&master->loop);
    loop_stop(&master->loop);
}

static void on_stop_tick(struct timer *timer, void *owner)
{
    struct master *master = owner;

    /* Each connection has a limit of its own for its last words: at most a second. */
    if (!registry_is_closed(master->hub.registry))
        return;
    timer_stop(timer);
    store_stop(master->hub.store, STOP_STORE_MS, on_store_closed);
}

static void on_stop_signal(void *owner, int signal)
{
    struct master *master = owner;

    if (master->hub.stopping)
        return;
    log_info("master.stopping", LOG_STR("signal", signal == SIGTERM ? "TERM" : "INT"));
    notifyd_send("STOPPING=1");
    master->hub.stopping = true;
    listener_close(master->listener);
    poller_free(master->poller);
    master->poller = NULL;
    registry_close(master->hub.registry, "the master is stopping");
    timer_start(&master->stop_timer, 0, STOP_TICK_MS);
}

static void on_hangup(void *owner, int signal)
{
    struct master *master = owner;

    (void)signal;
    if (!master->hub.stopping)
        reload_begin(master->reload, NULL);
}

static char *ports_path(const struct master *master)
{
    return fs_join(master->hub.config->data, "ports.json");
}

/* Whoever waits for the file waits for a master that listens. */
static void master_remove_ports(const struct master *master)
{
    char *path = ports_path(master);

    if (unlink(path) != 0 && errno != ENOENT)
        log_warn("master.ports_left", LOG_STR("path", path), LOG_INT("errno", errno));
    free(path);
}

static enum err_code master_write_ports(struct master *master, struct err *err)
{
    struct str text = STR_INIT(4096);
    struct json_out json;
    char *path = ports_path(master);
    enum err_code rc;

    json_out_init(&json, &text);
    json_object(&json);
    json_kv_u64(&json, "slaves", listener_port(master->listener));
    json_kv_u64(&json, "web", web_port(master->web));
    json_end(&json);
    str_putc(&text, '\n');
    rc = fs_replace(path, str_view(&text), 0644, err);
    free(path);
    str_release(&text);
    return rc;
}

/* Where links lead: as configured, else the address that the pages listen on. */
static void master_find_url(struct master *master)
{
    struct config *config = master->hub.config;
    char *host = NULL;
    uint16_t port;

    if (config->url) {
        master->hub.url = xstrdup(config->url);
    } else if (address_split(config->web, &host, &port, NULL) == ERR_OK) {
        bool any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;

        master->hub.url = xasprintf(strchr(host, ':') && !any ? "http://[%s]:%u/" : "http://%s:%u/",
                                    any ? "localhost" : host, web_port(master->web));
    } else {
        master->hub.url = xstrdup("/");
    }
    free(host);
}

static enum err_code master_open_loop(struct master *master, struct err *err)
{
    struct loop *loop = &master->loop;
    enum err_code rc = loop_init(loop, clock_system(), err);

    if (rc)
        return rc;
    master->hub.loop = loop;
    mailbox_open(&master->commands, loop, master);
    timer_init(&master->stop_timer, loop, on_stop_tick, master);
    rc = sig_open(&master->term, loop, SIGTERM, on_stop_signal, master, err);
    if (!rc)
        rc = sig_open(&master->interrupt, loop, SIGINT, on_stop_signal, master, err);
    if (!rc)
        rc = sig_open(&master->hangup, loop, SIGHUP, on_hangup, master, err);
    return rc;
}

static enum err_code master_open_store(struct master *master, struct err *err)
{
    static const struct store_ops ops = {.on_health = on_health, .on_batch = on_batch};
    struct hub *hub = &master->hub;
    struct store_snapshot snapshot = {0};
    enum err_code rc = store_open(hub->config->data, &hub->store, err);

    if (rc)
        return rc;
    rc = store_load(hub->store, &snapshot, err);
    if (!rc)
        rc = store_start(hub->store, hub->loop, &ops, master, err);
    if (!rc) {
        hub->builds = builds_new(hub);
        hub->registry = registry_new(hub, &snapshot);
        master->poller = poller_new(hub, &snapshot);
        builds_restore(hub->builds, &snapshot);
    }
    store_snapshot_release(&snapshot);
    return rc;
}

static enum err_code master_open_doors(struct master *master, struct err *err)
{
    static const struct listener_ops ops = {.on_accept = on_accept};
    struct config *config = master->hub.config;
    struct web_config web = {
        .config = config,
        .data = config->data,
        .ask = on_ask,
        .owner = master,
        .started_ms = loop_wall_ms(&master->loop),
    };
    enum err_code rc;

    master_remove_ports(master); /* of a run that was killed */
    rc = listener_open(&master->loop, config->listen, &ops, master, &master->listener, err);
    if (rc) {
        err_prefix(err, "listen for slaves");
        return rc;
    }
    rc = web_start(&web, &master->web, err);
    if (rc) {
        err_prefix(err, "listen for pages");
        return rc;
    }
    master_find_url(master);
    return master_write_ports(master, err);
}

static void master_ready(struct master *master)
{
    struct event *event = event_new(EVENT_CONFIG);

    event->config = config_ref(master->hub.config);
    on_emit(master, event);
    registry_emit_all(master->hub.registry);
    builds_emit_all(master->hub.builds);
    poller_start(master->poller);
    notifyd_send("READY=1");
    log_info("master.ready", LOG_STR("config", master->hub.config->path),
             LOG_INT("slaves_port", listener_port(master->listener)),
             LOG_STR("pages", master->hub.url));
}

static void master_release(struct master *master)
{
    poller_free(master->poller);
    registry_free(master->hub.registry);
    builds_free(master->hub.builds);
    store_free(master->hub.store);
    desk_free(master->desk);
    reload_free(master->reload);
    config_unref(&master->hub.config);
    free(master->hub.url);
    free(master->hub.store_error);
}

static struct config *load_or_print(const char *path, struct err *err)
{
    struct yaml_errors errors = {0};
    struct config *config = config_load(path, &errors);
    char **text;

    if (!config) {
        VEC_FOREACH (&errors.v, text) {
            (void)fprintf(stderr, "%s\n", *text);
        }
        (void)err_set(err, ERR_CONFIG, "%zu error%s in the configuration", errors.v.n,
                      errors.v.n == 1 ? "" : "s");
    }
    yaml_errors_release(&errors);
    return config;
}

enum err_code master_run(const char *config_path, struct err *err)
{
    static const struct desk_ops desk_ops = {.answer = on_answer, .reload = on_reload};
    static const struct reload_ops reload_ops = {.on_config = on_config, .on_done = on_reloaded};
    static struct master master; /* one for a process; what it embeds outlives every callback */
    struct hub *hub = &master.hub;
    enum err_code rc;

    hub->config = load_or_print(config_path, err);
    if (!hub->config)
        return ERR_CONFIG;
    hub->emit = on_emit;
    hub->owner = &master;
    ident_new(clock_wall_ms(clock_system()), hub->boot_id);
    rc = master_open_loop(&master, err);
    if (!rc)
        rc = master_open_store(&master, err);
    if (rc)
        return rc;
    master.desk = desk_new(hub, &desk_ops, &master);
    master.reload = reload_new(hub, &reload_ops, &master);
    rc = master_open_doors(&master, err);
    if (!rc) {
        master_ready(&master);
    } else {
        if (master.listener)
            listener_close(master.listener);
        store_stop(hub->store, STOP_STORE_MS, on_store_closed);
    }
    loop_run(&master.loop);
    master_remove_ports(&master);
    loop_release(&master.loop);
    master_release(&master);
    log_info("master.stopped");
    return rc;
}
