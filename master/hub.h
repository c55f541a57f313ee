/*
 * hub: what the modules of the loop thread share. One for each master; every pointer is set before
 * the loop runs.
 */
#ifndef TAILRACE_MASTER_HUB_H
#define TAILRACE_MASTER_HUB_H

#include "common/io/loop.h"
#include "master/config.h"
#include "master/event.h"
#include "master/store.h"

struct builds;
struct registry;

struct hub {
    struct loop *loop;
    struct store *store;
    struct config *config; /* the one in force */
    struct builds *builds;
    struct registry *registry;
    /* Takes over the event. */
    void (*emit)(void *owner, struct event *event);
    void *owner;
    char *url;         /* how links begin; ends in '/' */
    char *store_error; /* NULL while the store can write */
    bool stopping;     /* hand out no more work */
    char boot_id[33];
};

static inline void hub_emit(struct hub *hub, struct event *event)
{
    hub->emit(hub->owner, event);
}

#endif
