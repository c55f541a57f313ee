/* Builds, their steps and their points. */
#include <inttypes.h>

#include "master/http/api.h"
#include "master/http/params.h"

struct putting {
    struct site *site;
    struct json_out *json;
    struct show_step_of of;
    uint32_t step; /* the one that is wanted */
    bool found;
};

static void put_build(void *arg, const struct build_info *build)
{
    struct putting *putting = arg;

    site_put_build(putting->site, putting->json, build);
}

static enum err_code read_filter(const struct url *url, struct build_filter *filter,
                                 struct err *err)
{
    enum err_code rc = params_limit(url, &filter->limit, err);

    filter->builder = url_param(url, "builder");
    filter->project = url_param(url, "project");
    filter->branch = url_param(url, "branch");
    filter->revision = url_param(url, "revision");
    filter->slave = url_param(url, "slave");
    if (rc == ERR_OK)
        rc = params_u64(url, "before", 1, INT64_MAX, &filter->before, err);
    if (rc == ERR_OK)
        rc = params_u64(url, "set", 1, INT64_MAX, &filter->set_id, err);
    if (rc == ERR_OK)
        rc = params_state(url, &filter->state, err);
    if (rc == ERR_OK)
        rc = params_result(url, &filter->result, err);
    return rc;
}

void api_builds(struct site *site, struct call *call)
{
    struct build_filter filter = {.limit = PARAMS_LIMIT};
    struct answer answer;
    struct putting putting = {.site = site, .json = &answer.json};
    struct err err = ERR_INIT;
    uint64_t next = 0;

    if (read_filter(&call->url, &filter, &err)) {
        answer_err(call->request, &err);
        return;
    }
    answer_begin(&answer);
    json_object(&answer.json);
    json_key(&answer.json, "builds");
    json_array(&answer.json);
    if (reader_builds(site->reader, &filter, put_build, &putting, &next, &err)) {
        answer_drop(&answer);
        answer_err(call->request, &err);
        return;
    }
    json_end(&answer.json);
    show_key_id(&answer.json, "next", next);
    json_end(&answer.json);
    answer_send(&answer, call->request, 200);
}

/* ---- one build ---- */

static void open_build(void *arg, const struct build_info *build)
{
    struct putting *putting = arg;

    site_open_build(putting->site, putting->json, build);
    putting->of = (struct show_step_of){putting->site->base, build->id, build->attempt};
}

static void put_step(void *arg, const struct step_info *step)
{
    struct putting *putting = arg;

    show_step(putting->json, step, &putting->of);
}

static void put_attempt(void *arg, const struct attempt_info *attempt)
{
    show_attempt(((struct putting *)arg)->json, attempt);
}

static void put_wait(void *arg, uint64_t waits_for)
{
    json_u64(((struct putting *)arg)->json, waits_for);
}

static enum err_code put_whole(struct putting *putting, uint64_t id, struct err *err)
{
    struct reader *reader = putting->site->reader;
    struct json_out *json = putting->json;
    enum err_code rc = reader_build(reader, id, open_build, putting, err);

    if (rc)
        return rc;
    json_key(json, "steps");
    json_array(json);
    if (putting->of.attempt > 0)
        rc = reader_steps(reader, id, putting->of.attempt, put_step, putting, err);
    json_end(json);
    json_key(json, "attempts");
    json_array(json);
    if (rc == ERR_OK)
        rc = reader_attempts(reader, id, put_attempt, putting, err);
    json_end(json);
    json_key(json, "waits_for");
    json_array(json);
    if (rc == ERR_OK)
        rc = reader_waits(reader, id, put_wait, putting, err);
    json_end(json);
    json_end(json);
    return rc;
}

static bool read_id(struct call *call, uint64_t *id)
{
    *id = params_id(call->wild[0]);
    if (*id == 0)
        answer_error(call->request, 404, "notfound", "there is no build '%.80s'", call->wild[0]);
    return *id != 0;
}

void api_build(struct site *site, struct call *call)
{
    struct answer answer;
    struct putting putting = {.site = site, .json = &answer.json};
    struct err err = ERR_INIT;
    uint64_t id;

    if (!read_id(call, &id))
        return;
    answer_begin(&answer);
    if (put_whole(&putting, id, &err)) {
        answer_drop(&answer);
        answer_err(call->request, &err);
        return;
    }
    answer_send(&answer, call->request, 200);
}

/* ---- one step ---- */

static void note_attempt(void *arg, const struct build_info *build)
{
    struct putting *putting = arg;

    if (putting->of.attempt == 0)
        putting->of.attempt = build->attempt;
}

static void put_wanted_step(void *arg, const struct step_info *step)
{
    struct putting *putting = arg;

    if (step->number != putting->step)
        return;
    putting->found = true;
    put_step(arg, step);
}

static enum err_code find_step(struct putting *putting, struct err *err)
{
    const struct show_step_of *of = &putting->of;
    enum err_code rc = reader_build(putting->site->reader, of->build, note_attempt, putting, err);

    if (rc == ERR_OK && of->attempt > 0)
        rc = reader_steps(putting->site->reader, of->build, of->attempt, put_wanted_step, putting,
                          err);
    if (rc == ERR_OK && !putting->found)
        rc = err_set(err, ERR_NOTFOUND, "attempt %" PRIu32 " of build %" PRIu64 " has no such step",
                     of->attempt, of->build);
    return rc;
}

void api_step(struct site *site, struct call *call)
{
    struct answer answer;
    struct putting putting = {.site = site, .json = &answer.json, .of = {.base = site->base}};
    struct err err = ERR_INIT;
    uint64_t attempt = 0;

    if (!read_id(call, &putting.of.build))
        return;
    if (params_u64(&call->url, "attempt", 1, UINT32_MAX, &attempt, &err)) {
        answer_err(call->request, &err);
        return;
    }
    putting.of.attempt = (uint32_t)attempt;
    putting.step = (uint32_t)params_id(call->wild[1]);
    answer_begin(&answer);
    if (find_step(&putting, &err)) {
        answer_drop(&answer);
        answer_err(call->request, &err);
        return;
    }
    answer_send(&answer, call->request, 200);
}

/* ---- points ---- */

static void put_point(void *arg, const struct point_row *point)
{
    show_point(((struct putting *)arg)->json, point);
}

void api_points(struct site *site, struct call *call)
{
    struct answer answer;
    struct putting putting = {.site = site, .json = &answer.json};
    unsigned limit = PARAMS_LIMIT;
    uint64_t attempt = 0, after = 0, next = 0, id;
    struct err err = ERR_INIT;

    if (!read_id(call, &id))
        return;
    answer_begin(&answer);
    json_object(&answer.json);
    json_key(&answer.json, "points");
    json_array(&answer.json);
    if (params_limit(&call->url, &limit, &err) ||
        params_u64(&call->url, "attempt", 1, UINT32_MAX, &attempt, &err) ||
        params_u64(&call->url, "before", 1, INT64_MAX, &after, &err) ||
        reader_build(site->reader, id, note_attempt, &putting, &err) ||
        reader_points(site->reader, id, (uint32_t)attempt, after, limit, put_point, &putting, &next,
                      &err)) {
        answer_drop(&answer);
        answer_err(call->request, &err);
        return;
    }
    json_end(&answer.json);
    show_key_id(&answer.json, "next", next);
    json_end(&answer.json);
    answer_send(&answer, call->request, 200);
}
