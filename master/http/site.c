#include "master/http/site.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/listener.h"
#include "master/http/routes.h"

enum {
    PATROL_MS = 5000,
    DRAIN_MS = 250,     /* for answers on their way, when stopping */
    SPARE_STREAMS = 64, /* connections that streams leave to everybody else, at least */
};

static void on_request(void *owner, struct request *request)
{
    routes_answer(owner, request);
}

static void on_refused(void *owner, struct request *request, int status, const char *why)
{
    (void)owner;
    answer_error(request, status, err_code_name(status == 413 ? ERR_LIMIT : ERR_CONFIG), "%s", why);
}

static void on_server_closed(void *owner)
{
    struct site *site = owner;

    site->on_closed(site->on_closed_arg);
}

/* How links begin: as configured, else the address that the pages listen on. */
static void site_set_base(struct site *site)
{
    const char *url = site->mirror.config->url;
    char *host = NULL;
    uint16_t port;
    bool any;

    free(site->base);
    if (url) {
        site->base = xstrdup(url);
        return;
    }
    if (address_split(site->listen, &host, &port, NULL))
        host = xstrdup("localhost");
    any = strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
    site->base = xasprintf(strchr(host, ':') && !any ? "http://[%s]:%u/" : "http://%s:%u/",
                           any ? "localhost" : host, server_port(site->server));
    free(host);
}

static bool is_on_loopback(const char *address)
{
    char *host = NULL;
    uint16_t port;
    bool loopback =
        address_split(address, &host, &port, NULL) == ERR_OK && address_is_loopback(host);

    free(host);
    return loopback;
}

/* Reads one builder's newest builds in each pass of the loop, so that the first page needs not wait
 * for all of them, and nobody for one. */
static void on_warm(struct timer *timer, void *owner)
{
    struct site *site = owner;
    const struct config *config = site->mirror.config;
    const struct config_builder *builder = config->builders;

    if (site->warmed) {
        const struct config_builder *last = config_find_builder(config, site->warmed);

        builder = last ? last->hh.next : NULL;
    }
    free(site->warmed);
    site->warmed = NULL;
    if (!builder)
        return;
    newest_warm(site->newest, builder->name);
    site->warmed = xstrdup(builder->name);
    timer_start(timer, 1, 0);
}

static void on_patrol(struct timer *timer, void *owner)
{
    struct site *site = owner;

    (void)timer;
    events_patrol(site->events);
    follows_patrol(site->follows);
}

enum err_code site_open(struct site *site, const struct web_config *config, struct err *err)
{
    static const struct server_ops ops = {on_request, on_refused, on_server_closed};
    enum err_code rc = reader_open(config->data, &site->reader, err);

    if (rc)
        return rc;
    rc = server_open(&site->loop, config->config->web, &ops, site, &site->server, err);
    if (rc) {
        reader_close(site->reader);
        return rc;
    }
    site->ask = config->ask;
    site->owner = config->owner;
    site->started_ms = config->started_ms;
    site->listen = xstrdup(config->config->web);
    site->loopback = is_on_loopback(site->listen);
    site->logs = log_reader_new(config->data);
    mirror_init(&site->mirror, config->config);
    site->newest = newest_new(site->reader, site->loop.clock);
    site->events = events_new(site);
    site->follows = follows_new(site);
    site_set_base(site);
    timer_init(&site->warmer, &site->loop, on_warm, site);
    timer_start(&site->warmer, 0, 0);
    timer_init(&site->patrol, &site->loop, on_patrol, site);
    timer_start(&site->patrol, PATROL_MS, PATROL_MS);
    return ERR_OK;
}

void site_event(struct site *site, const struct event *event)
{
    bool ends = event->kind == EVENT_BUILD && event->build.state == BUILD_FINISHED;

    if (!ends)
        mirror_apply(&site->mirror, event);
    if (event->kind == EVENT_BUILD)
        newest_apply(site->newest, &event->build);
    if (event->kind == EVENT_CONFIG)
        site_set_base(site);
    events_publish(site->events, event);
    follows_event(site->follows, event);
    if (ends)
        mirror_apply(&site->mirror, event);
}

void site_close(struct site *site, void (*closed)(void *arg), void *arg)
{
    site->stopping = true;
    site->on_closed = closed;
    site->on_closed_arg = arg;
    timer_stop(&site->warmer);
    timer_stop(&site->patrol);
    errands_stop(&site->errands);
    events_stop(site->events);
    follows_stop(site->follows);
    server_close(site->server, DRAIN_MS);
}

void site_release(struct site *site)
{
    errands_release(&site->errands);
    events_free(site->events);
    follows_free(site->follows);
    server_free(site->server);
    newest_free(site->newest);
    mirror_release(&site->mirror);
    log_reader_free(site->logs);
    reader_close(site->reader);
    free(site->warmed);
    free(site->listen);
    free(site->base);
}

void site_put_build(struct site *site, struct json_out *json, const struct build_info *build)
{
    const struct show_context context = {site->base, newest_expected(site->newest, build->builder)};

    show_build(json, build, &context);
}

void site_open_build(struct site *site, struct json_out *json, const struct build_info *build)
{
    const struct show_context context = {site->base, newest_expected(site->newest, build->builder)};

    show_build_open(json, build, &context);
}

bool site_has_room(struct site *site, struct request *request)
{
    if (site->n_streams + SPARE_STREAMS < server_limit(site->server))
        return true;
    answer_error(request, 503, "limit", "%zu event streams and followed logs are open, no more",
                 site->n_streams);
    return false;
}
