/* How the master as a whole is. */
#include "master/http/api.h"
#include "master/http/params.h"

enum { PROBE_MS = 2000 };

struct counts {
    uint64_t running, queued, waiting, connected, known;
};

static void count(struct site *site, struct counts *out)
{
    const struct mirror_build *build;
    const struct mirror_slave *slave;

    for (build = site->mirror.builds; build; build = build->hh.next) {
        out->waiting += build->info.state == BUILD_WAITING;
        out->queued += build->info.state == BUILD_QUEUED;
        out->running += build->info.state == BUILD_RUNNING || build->info.state == BUILD_DETACHED;
    }
    for (slave = mirror_slaves(&site->mirror); slave; slave = slave->hh.next) {
        out->known++;
        out->connected += slave->info.connected_ms != 0;
    }
}

void api_status(struct site *site, struct call *call)
{
    const struct mirror_pool *pool;
    struct counts counts = {0};
    struct answer answer;
    struct json_out *json = &answer.json;

    count(site, &counts);
    answer_begin(&answer);
    json_object(json);
    json_kv_str(json, "title", site->mirror.config->title);
    json_kv_str(json, "version", TAILRACE_VERSION);
    json_kv_str(json, "url", site->base);
    json_kv_time(json, "started_at", site->started_ms);
    json_kv_time(json, "now", loop_wall_ms(&site->loop));
    json_kv_u64(json, "builds_running", counts.running);
    json_kv_u64(json, "builds_queued", counts.queued);
    json_kv_u64(json, "builds_waiting", counts.waiting);
    json_kv_u64(json, "slaves_connected", counts.connected);
    json_kv_u64(json, "slaves_known", counts.known);
    json_kv_str(json, "config_error", site->mirror.config_error);
    json_kv_str(json, "store_error", site->mirror.store_error);
    json_key(json, "pools");
    json_array(json);
    for (pool = mirror_pools(&site->mirror); pool; pool = pool->hh.next)
        show_pool(json, &pool->info);
    json_end(json);
    json_end(json);
    answer_send(&answer, call->request, 200);
}

static void on_probed(struct site *site, struct request *request, const struct command *command)
{
    (void)command;
    if (site->mirror.store_error)
        answer_text(request, 503, site->mirror.store_error);
    else
        answer_text(request, 200, "ok");
}

void api_healthz(struct site *site, struct call *call)
{
    const struct errand_order order = {.command = command_new(COMMAND_PROBE),
                                       .answer = on_probed,
                                       .wait_ms = PROBE_MS,
                                       .late = "the master's loop does not answer"};

    errand_send(site, call->request, &order);
}

void api_events(struct site *site, struct call *call)
{
    struct events_filter filter = {.branch = url_param(&call->url, "branch"),
                                   .builder = url_param(&call->url, "builder")};
    struct err err = ERR_INIT;

    if (params_u64(&call->url, "build", 1, INT64_MAX, &filter.build, &err))
        answer_err(call->request, &err);
    else if (site_has_room(site, call->request))
        events_subscribe(site->events, call->request, &filter);
}
