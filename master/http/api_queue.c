/* What waits, in which order, why, and until when. */
#include <string.h>

#include "common/base/log.h"
#include "master/http/api.h"
#include "master/http/params.h"
#include "master/http/plan.h"

enum { SENTENCE_MAX = 64 * 1024, CURSOR_MAX = 256 };

static double expected(void *arg, const char *builder)
{
    return newest_expected(((struct site *)arg)->newest, builder);
}

static void take_wait(void *arg, uint64_t waits_for)
{
    struct mirror_build *build = arg;

    vec_push(&build->waits, waits_for);
}

static void read_waits(void *arg, struct mirror_build *build)
{
    struct site *site = arg;
    struct err err = ERR_INIT;

    build->waits.n = 0;
    if (reader_waits(site->reader, build->info.id, take_wait, build, &err))
        log_warn("web.waits", LOG_ID("build", build->info.id), LOG_ERR(&err));
    else
        build->waits_known = true;
}

/* "POOL:POSITION", where a page ended. */
struct cursor {
    char pool[CURSOR_MAX];
    uint64_t position;
};

static enum err_code cursor_read(const char *text, struct cursor *out, struct err *err)
{
    const char *colon = text ? strrchr(text, ':') : NULL;

    out->pool[0] = '\0';
    out->position = 0;
    if (!text)
        return ERR_OK;
    if (!colon || (size_t)(colon - text) >= sizeof out->pool ||
        text_u64(view_of(colon + 1), 1, UINT32_MAX, &out->position, NULL))
        return err_set(err, ERR_CONFIG, "parameter before: '%.80s' is not a cursor of this list",
                       text);
    memcpy(out->pool, text, (size_t)(colon - text));
    out->pool[colon - text] = '\0';
    return ERR_OK;
}

static bool is_behind(const struct plan_entry *entry, const struct cursor *cursor)
{
    int order = strcmp(entry->build->info.pool, cursor->pool);

    return order > 0 || (order == 0 && entry->position > cursor->position);
}

static void put_entry(struct site *site, struct json_out *json, const struct plan *plan,
                      const struct plan_entry *entry)
{
    const struct build_info *info = &entry->build->info;
    struct str reason = STR_INIT(SENTENCE_MAX);

    plan_reason(&site->mirror, plan, entry, &reason);
    json_object(json);
    json_kv_u64(json, "build", info->id);
    json_kv_str(json, "builder", info->builder);
    json_kv_str(json, "branch", info->branch);
    json_kv_str(json, "pool", info->pool);
    json_kv_str(json, "priority", priority_name(info->priority));
    json_kv_u64(json, "position", entry->position);
    json_kv_str(json, "waits_for", str_cstr(&reason));
    json_kv_time(json, "starts_at", entry->starts_ms);
    json_end(json);
    str_release(&reason);
}

static void put_next(struct json_out *json, const struct plan_entry *last)
{
    struct str cursor = STR_INIT(CURSOR_MAX + 32);

    if (last)
        str_printf(&cursor, "%.200s:%u", last->build->info.pool, last->position);
    json_kv_str(json, "next", last ? str_cstr(&cursor) : NULL);
    str_release(&cursor);
}

static void put_queue(struct site *site, struct call *call, const struct cursor *from,
                      unsigned limit)
{
    const struct plan_input input = {.mirror = &site->mirror,
                                     .now_ms = loop_wall_ms(&site->loop),
                                     .expected = expected,
                                     .read_waits = read_waits,
                                     .arg = site};
    const char *pool = url_param(&call->url, "pool");
    const struct plan_entry *entry, *last = NULL;
    struct plan plan;
    struct answer answer;
    bool more = false;

    plan_make(&input, &plan);
    answer_begin(&answer);
    json_object(&answer.json);
    json_key(&answer.json, "queue");
    json_array(&answer.json);
    VEC_FOREACH (&plan.entries, entry) {
        if (!is_behind(entry, from) || (pool && strcmp(pool, entry->build->info.pool) != 0))
            continue;
        more = limit == 0;
        if (more)
            break;
        put_entry(site, &answer.json, &plan, entry);
        last = entry;
        limit--;
    }
    json_end(&answer.json);
    put_next(&answer.json, more ? last : NULL);
    json_end(&answer.json);
    plan_release(&plan);
    answer_send(&answer, call->request, 200);
}

void api_queue(struct site *site, struct call *call)
{
    unsigned limit = PARAMS_LIMIT;
    struct cursor from;
    struct err err = ERR_INIT;

    if (params_limit(&call->url, &limit, &err) ||
        cursor_read(url_param(&call->url, "before"), &from, &err))
        answer_err(call->request, &err);
    else
        put_queue(site, call, &from, limit);
}
