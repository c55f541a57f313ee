/*
 * site: all that the web's thread has at hand when it answers a request. Web thread.
 */
#ifndef TAILRACE_MASTER_HTTP_SITE_H
#define TAILRACE_MASTER_HTTP_SITE_H

#include "common/io/loop.h"
#include "common/io/timer.h"
#include "master/http/answer.h"
#include "master/http/errand.h"
#include "master/http/events.h"
#include "master/http/follow.h"
#include "master/http/mirror.h"
#include "master/http/newest.h"
#include "master/http/server.h"
#include "master/http/show.h"
#include "master/http/url.h"
#include "master/http/web.h"
#include "master/logs.h"
#include "master/store/reader.h"

struct site {
    struct loop loop;
    struct server *server;
    struct reader *reader;
    struct log_reader *logs;
    struct mirror mirror;
    struct newest *newest;
    struct events *events;
    struct follows *follows;
    struct errands errands;
    char *listen;  /* the address as configured at start */
    char *base;    /* how links begin; ends in '/' */
    bool loopback; /* the pages listen on this machine only */
    bool stopping;
    int64_t started_ms;
    size_t n_streams; /* answers that stay open: events and followed logs */
    void (*ask)(void *owner, struct command *command);
    void *owner;
    struct timer warmer;
    char *warmed;        /* the builder whose newest builds were read last */
    struct timer patrol; /* looks for readers that have left, keeps connections alive */
    void (*on_closed)(void *arg);
    void *on_closed_arg;
};

/* One request on its way through a handler. */
struct call {
    struct request *request;
    struct url url;
    const char *wild[2]; /* the path's variable parts */
};

/* Listens, opens the database. The strings of web_config are copied. */
enum err_code site_open(struct site *site, const struct web_config *config,
                        struct err *err) TAILRACE_MUST_CHECK;
/* The loop told something. */
void site_event(struct site *site, const struct event *event);
/* Ends what is open; closed(arg) from the loop when it is. */
void site_close(struct site *site, void (*closed)(void *arg), void *arg);
/* After that, and once no answer of the loop can come any more. */
void site_release(struct site *site);

/* A build as in lists. */
void site_put_build(struct site *site, struct json_out *json, const struct build_info *build);
/* The same without the closing brace and `steps`. */
void site_open_build(struct site *site, struct json_out *json, const struct build_info *build);
/* Room for one more answer that stays open; else the request was answered with 503. */
bool site_has_room(struct site *site, struct request *request);

#endif
