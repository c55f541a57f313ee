/*
 * api: the handlers behind the routes, one file for each noun. Each answers the call's request, at
 * once or later; the call itself is good during the handler only.
 */
#ifndef TAILRACE_MASTER_HTTP_API_H
#define TAILRACE_MASTER_HTTP_API_H

#include "master/http/site.h"

/* api_status.c */
void api_status(struct site *site, struct call *call);
void api_healthz(struct site *site, struct call *call);
void api_events(struct site *site, struct call *call);
/* api_builders.c */
void api_builders(struct site *site, struct call *call);
void api_builder(struct site *site, struct call *call);
/* api_builds.c */
void api_builds(struct site *site, struct call *call);
void api_build(struct site *site, struct call *call);
void api_step(struct site *site, struct call *call);
void api_points(struct site *site, struct call *call);
/* api_log.c */
void api_log(struct site *site, struct call *call);
/* api_sets.c */
void api_set(struct site *site, struct call *call);
/* api_queue.c */
void api_queue(struct site *site, struct call *call);
/* api_slaves.c: slaves and pools */
void api_slaves(struct site *site, struct call *call);
void api_slave(struct site *site, struct call *call);
void api_pools(struct site *site, struct call *call);
/* api_changes.c */
void api_changes(struct site *site, struct call *call);
/* api_act.c */
void api_force(struct site *site, struct call *call);
void api_send_change(struct site *site, struct call *call);
void api_cancel(struct site *site, struct call *call);
void api_rebuild(struct site *site, struct call *call);
void api_drain(struct site *site, struct call *call);
void api_undrain(struct site *site, struct call *call);
void api_pause(struct site *site, struct call *call);
void api_unpause(struct site *site, struct call *call);
void api_reload(struct site *site, struct call *call);
/* pages.c: everything that is not ours to answer otherwise */
void pages_answer(struct site *site, struct call *call);

#endif
