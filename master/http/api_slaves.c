/* Slaves and pools, in the order of their names; the cursor is a name. */
#include <string.h>

#include "master/http/api.h"
#include "master/http/params.h"

void api_slaves(struct site *site, struct call *call)
{
    const char *before = url_param(&call->url, "before");
    const struct mirror_slave *slave;
    const char *last = NULL;
    unsigned limit = PARAMS_LIMIT_MAX;
    struct answer answer;
    struct err err = ERR_INIT;

    if (params_limit(&call->url, &limit, &err)) {
        answer_err(call->request, &err);
        return;
    }
    answer_begin(&answer);
    json_object(&answer.json);
    json_key(&answer.json, "slaves");
    json_array(&answer.json);
    for (slave = mirror_slaves(&site->mirror); slave && limit > 0; slave = slave->hh.next) {
        if (before && strcmp(slave->info.name, before) <= 0)
            continue;
        show_slave(&answer.json, &slave->info);
        last = slave->info.name;
        limit--;
    }
    json_end(&answer.json);
    json_kv_str(&answer.json, "next", slave ? last : NULL);
    json_end(&answer.json);
    answer_send(&answer, call->request, 200);
}

void api_slave(struct site *site, struct call *call)
{
    const struct slave_info *slave = mirror_find_slave(&site->mirror, call->wild[0]);
    struct answer answer;

    if (!slave) {
        answer_error(call->request, 404, "notfound", "there is no slave %.80s", call->wild[0]);
        return;
    }
    answer_begin(&answer);
    show_slave(&answer.json, slave);
    answer_send(&answer, call->request, 200);
}

void api_pools(struct site *site, struct call *call)
{
    const char *before = url_param(&call->url, "before");
    const struct mirror_pool *pool;
    const char *last = NULL;
    unsigned limit = PARAMS_LIMIT_MAX;
    struct answer answer;
    struct err err = ERR_INIT;

    if (params_limit(&call->url, &limit, &err)) {
        answer_err(call->request, &err);
        return;
    }
    answer_begin(&answer);
    json_object(&answer.json);
    json_key(&answer.json, "pools");
    json_array(&answer.json);
    for (pool = mirror_pools(&site->mirror); pool && limit > 0; pool = pool->hh.next) {
        if (before && strcmp(pool->info.name, before) <= 0)
            continue;
        show_pool(&answer.json, &pool->info);
        last = pool->info.name;
        limit--;
    }
    json_end(&answer.json);
    json_kv_str(&answer.json, "next", pool ? last : NULL);
    json_end(&answer.json);
    answer_send(&answer, call->request, 200);
}
