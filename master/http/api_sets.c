/* All that was asked for at once. */
#include "master/http/api.h"
#include "master/http/params.h"

struct putting {
    struct site *site;
    struct json_out *json;
};

static void open_set(void *arg, const struct set_info *set)
{
    struct json_out *json = ((struct putting *)arg)->json;

    json_object(json);
    json_kv_u64(json, "id", set->id);
    json_kv_str(json, "reason", set->reason);
    json_kv_str(json, "project", set->project);
    json_kv_str(json, "branch", set->branch);
    json_kv_str(json, "revision", set->revision);
    json_kv_time(json, "created_at", set->created_ms);
}

struct progress {
    struct putting putting;
    int64_t finished_ms; /* the newest */
    bool open;
};

static void put_build(void *arg, const struct build_info *build)
{
    struct progress *progress = arg;

    site_put_build(progress->putting.site, progress->putting.json, build);
    progress->open |= build->state != BUILD_FINISHED;
    if (build->finished_ms > progress->finished_ms)
        progress->finished_ms = build->finished_ms;
}

static enum err_code put_builds(struct progress *progress, uint64_t set, struct err *err)
{
    struct build_filter filter = {.set_id = set, .limit = PARAMS_LIMIT_MAX};
    uint64_t next = 0;
    enum err_code rc;

    do {
        rc =
            reader_builds(progress->putting.site->reader, &filter, put_build, progress, &next, err);
        filter.before = next;
    } while (rc == ERR_OK && next);
    return rc;
}

void api_set(struct site *site, struct call *call)
{
    struct answer answer;
    struct progress progress = {.putting = {site, &answer.json}};
    uint64_t id = params_id(call->wild[0]);
    struct err err = ERR_INIT;

    if (id == 0) {
        answer_error(call->request, 404, "notfound", "there is no set '%.80s'", call->wild[0]);
        return;
    }
    answer_begin(&answer);
    if (reader_set(site->reader, id, open_set, &progress.putting, &err)) {
        answer_drop(&answer);
        answer_err(call->request, &err);
        return;
    }
    json_key(&answer.json, "builds");
    json_array(&answer.json);
    if (put_builds(&progress, id, &err)) {
        answer_drop(&answer);
        answer_err(call->request, &err);
        return;
    }
    json_end(&answer.json);
    json_kv_time(&answer.json, "finished_at", progress.open ? 0 : progress.finished_ms);
    json_end(&answer.json);
    answer_send(&answer, call->request, 200);
}
