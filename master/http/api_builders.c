/* Builders, as configured and as their newest builds went. */
#include <string.h>

#include "master/http/api.h"
#include "master/http/params.h"

struct putting {
    struct site *site;
    struct json_out *json;
    const struct config_builder *builder;
};

static void put_last(void *arg, const struct build_info *build)
{
    struct putting *putting = arg;

    /* A branch that left the configuration, or was forced once by a slip, is not looked at for
     * ever. Its builds are listed by /builds. */
    if (config_builds_branch(putting->builder, build->branch))
        site_put_build(putting->site, putting->json, build);
}

static void open_builder(struct site *site, struct json_out *json,
                         const struct config_builder *builder)
{
    struct putting putting = {site, json, builder};
    double expected_s = newest_expected(site->newest, builder->name);

    show_builder_open(json, builder);
    json_key(json, "expected_s");
    if (expected_s < 0)
        json_null(json);
    else
        json_double(json, expected_s);
    json_key(json, "last");
    json_array(json);
    newest_each(site->newest, builder->name, put_last, &putting);
    json_end(json);
}

/* The cursor is a builder's name: the page begins behind it, in the configuration's order. */
static enum err_code find_first(const struct config *config, const char *before,
                                const struct config_builder **out, struct err *err)
{
    const struct config_builder *last;

    if (!before) {
        *out = config->builders;
        return ERR_OK;
    }
    last = config_find_builder(config, before);
    if (!last)
        return err_set(err, ERR_CONFIG, "parameter before: there is no builder '%.80s' (any more)",
                       before);
    *out = last->hh.next;
    return ERR_OK;
}

void api_builders(struct site *site, struct call *call)
{
    const struct config_builder *builder = NULL;
    const struct config_builder *last = NULL;
    unsigned limit = PARAMS_LIMIT_MAX;
    struct answer answer;
    struct err err = ERR_INIT;

    if (params_limit(&call->url, &limit, &err) ||
        find_first(site->mirror.config, url_param(&call->url, "before"), &builder, &err)) {
        answer_err(call->request, &err);
        return;
    }
    answer_begin(&answer);
    json_object(&answer.json);
    json_key(&answer.json, "builders");
    json_array(&answer.json);
    for (; builder && limit > 0; builder = builder->hh.next, limit--) {
        open_builder(site, &answer.json, builder);
        json_end(&answer.json);
        last = builder;
    }
    json_end(&answer.json);
    json_kv_str(&answer.json, "next", builder && last ? last->name : NULL);
    json_end(&answer.json);
    answer_send(&answer, call->request, 200);
}

void api_builder(struct site *site, struct call *call)
{
    const struct config_builder *builder = config_find_builder(site->mirror.config, call->wild[0]);
    struct answer answer;

    if (!builder) {
        answer_error(call->request, 404, "notfound", "there is no builder %.80s", call->wild[0]);
        return;
    }
    answer_begin(&answer);
    open_builder(site, &answer.json, builder);
    json_key(&answer.json, "steps");
    show_builder_steps(&answer.json, builder);
    json_end(&answer.json);
    answer_send(&answer, call->request, 200);
}
