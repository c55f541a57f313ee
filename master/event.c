#include "master/event.h"

#include <stdlib.h>

#include "common/base/mem.h"

struct event *event_new(enum event_kind kind)
{
    struct event *event = xcalloc(1, sizeof *event);

    event->kind = kind;
    return event;
}

void event_free(struct event *event)
{
    build_info_release(&event->build);
    step_info_release(&event->step);
    slave_info_release(&event->slave);
    change_info_release(&event->change);
    pool_info_release(&event->pool);
    config_unref(&event->config);
    free(event->text);
    free(event);
}
