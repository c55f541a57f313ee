/* What changes anything: a command for the loop each, answered when it is durable. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/mem.h"
#include "master/http/api.h"
#include "master/http/body.h"
#include "master/http/params.h"

enum { WAIT_MS = 30000 };

static void act_send(struct site *site, struct call *call, struct command *command,
                     errand_answer answer)
{
    const struct errand_order order = {
        .command = command,
        .answer = answer,
        .wait_ms = WAIT_MS,
        .late = "no answer in 30 s: what was asked may still happen; a repetition with the same "
                "Idempotency-Key is safe"};

    errand_send(site, call->request, &order);
}

/* Frees the command. */
static void refuse(struct call *call, struct command *command, const struct err *err)
{
    command_free(command);
    answer_err(call->request, err);
}

/* ---- answers with a build ---- */

struct putting {
    struct site *site;
    struct json_out *json;
    bool already;
    uint64_t id;
    bool done;
};

static void put_build(void *arg, const struct build_info *build)
{
    struct putting *putting = arg;

    site_open_build(putting->site, putting->json, build);
    if (putting->already)
        json_kv_bool(putting->json, "already", true);
    json_kv_str(putting->json, "steps", NULL);
    json_end(putting->json);
}

/* The build as the command says it, or as the database does when that has only its id. */
static void answer_build(struct site *site, struct request *request, int status,
                         const struct command *command)
{
    struct answer answer;
    struct putting putting = {site, &answer.json, command->already, 0, false};
    struct err err = ERR_INIT;

    answer_begin(&answer);
    if (command->build.builder) {
        put_build(&putting, &command->build);
    } else if (reader_build(site->reader, command->build.id, put_build, &putting, &err)) {
        answer_drop(&answer);
        answer_err(request, &err);
        return;
    }
    answer_send(&answer, request, status);
}

static void on_forced(struct site *site, struct request *request, const struct command *command)
{
    if (command->err.code)
        answer_err(request, &command->err);
    else
        answer_build(site, request, command->already ? 200 : 201, command);
}

void api_force(struct site *site, struct call *call)
{
    struct command *command = command_new(COMMAND_FORCE);
    struct err err = ERR_INIT;

    if (body_idempotency(request_header(call->request, "Idempotency-Key"), command, &err) ||
        body_force(request_body(call->request), command, &err))
        refuse(call, command, &err);
    else
        act_send(site, call, command, on_forced);
}

static void take_model(void *arg, const struct build_info *build)
{
    struct command *command = arg;

    command->build_id = build->id;
    command->name = xstrdup(build->builder);
    command->branch = xstrdup(build->branch);
    command->revision = build->revision ? xstrdup(build->revision) : NULL;
    command->change_asked.project = xstrdup(build->project);
    command->reason = xasprintf("rebuild of build %" PRIu64, build->id);
}

/* 404 when the path names no number that a build could have. */
static bool read_id(struct call *call, uint64_t *id)
{
    *id = params_id(call->wild[0]);
    if (*id == 0)
        answer_error(call->request, 404, "notfound", "there is no build '%.80s'", call->wild[0]);
    return *id != 0;
}

void api_rebuild(struct site *site, struct call *call)
{
    struct command *command;
    struct err err = ERR_INIT;
    uint64_t id;

    if (!read_id(call, &id))
        return;
    command = command_new(COMMAND_REBUILD);
    if (body_idempotency(request_header(call->request, "Idempotency-Key"), command, &err) ||
        body_none(request_body(call->request), &err) ||
        reader_build(site->reader, id, take_model, command, &err))
        refuse(call, command, &err);
    else
        act_send(site, call, command, on_forced);
}

static void ignore_build(void *arg, const struct build_info *build)
{
    (void)arg;
    (void)build;
}

/* The loop knows unfinished builds only: whether there is one at all says the database. */
static void answer_not_cancelled(struct site *site, struct request *request,
                                 const struct command *command)
{
    struct err err = ERR_INIT;

    if (reader_build(site->reader, command->build_id, ignore_build, NULL, &err))
        answer_err(request, &err);
    else
        answer_error(request, 409, err_code_name(ERR_EXISTS),
                     "build %" PRIu64 " has finished already", command->build_id);
}

static void on_cancelled(struct site *site, struct request *request, const struct command *command)
{
    if (command->err.code == ERR_NOTFOUND)
        answer_not_cancelled(site, request, command);
    else if (command->err.code)
        answer_err(request, &command->err);
    else
        answer_build(site, request, 200, command);
}

void api_cancel(struct site *site, struct call *call)
{
    struct command *command;
    struct err err = ERR_INIT;
    uint64_t id;

    if (!read_id(call, &id))
        return;
    command = command_new(COMMAND_CANCEL);
    command->build_id = id;
    if (body_reason(request_body(call->request), command, &err))
        refuse(call, command, &err);
    else
        act_send(site, call, command, on_cancelled);
}

/* ---- changes ---- */

static void open_change(void *arg, const struct change_info *change)
{
    struct putting *putting = arg;

    if (putting->done || change->id != putting->id)
        return;
    putting->done = true;
    show_change_open(putting->json, change);
}

static void put_id(void *arg, const struct build_info *build)
{
    json_u64(((struct putting *)arg)->json, build->id);
}

/* The change that was there first. */
static enum err_code put_first_change(struct putting *putting, uint64_t set, struct err *err)
{
    struct reader *reader = putting->site->reader;
    struct build_filter filter = {.set_id = set, .limit = PARAMS_LIMIT_MAX};
    uint64_t next = 0;
    enum err_code rc =
        reader_changes(reader, NULL, NULL, putting->id + 1, 1, open_change, putting, &next, err);

    if (rc == ERR_OK && !putting->done)
        rc = err_set(err, ERR_NOTFOUND, "there is no change %" PRIu64, putting->id);
    if (rc)
        return rc;
    json_key(putting->json, "builds");
    json_array(putting->json);
    if (set)
        rc = reader_builds(reader, &filter, put_id, putting, &next, err);
    json_end(putting->json);
    return rc;
}

static void put_new_change(struct json_out *json, const struct command *command)
{
    show_change_open(json, &command->change);
    json_key(json, "builds");
    json_array(json);
    for (size_t i = 0; i < command->n_build_ids; i++)
        json_u64(json, command->build_ids[i]);
    json_end(json);
}

static void on_changed(struct site *site, struct request *request, const struct command *command)
{
    struct answer answer;
    struct putting putting = {.site = site, .json = &answer.json, .id = command->change.id};
    struct err err = command->err;

    answer_begin(&answer);
    if (err.code == ERR_OK && !command->already)
        put_new_change(&answer.json, command);
    else if (err.code == ERR_OK)
        (void)put_first_change(&putting, command->change.set_id, &err);
    if (err.code) {
        answer_drop(&answer);
        answer_err(request, &err);
        return;
    }
    json_end(&answer.json);
    answer_send(&answer, request, command->already ? 200 : 201);
}

void api_send_change(struct site *site, struct call *call)
{
    struct command *command = command_new(COMMAND_CHANGE);
    struct err err = ERR_INIT;

    if (body_idempotency(request_header(call->request, "Idempotency-Key"), command, &err) ||
        body_change(request_body(call->request), command, &err))
        refuse(call, command, &err);
    else
        act_send(site, call, command, on_changed);
}

/* ---- slaves and pools ---- */

static void on_slave(struct site *site, struct request *request, const struct command *command)
{
    struct answer answer;

    (void)site;
    if (command->err.code) {
        answer_err(request, &command->err);
        return;
    }
    answer_begin(&answer);
    show_slave(&answer.json, &command->slave);
    answer_send(&answer, request, 200);
}

static void on_pool(struct site *site, struct request *request, const struct command *command)
{
    struct answer answer;

    (void)site;
    if (command->err.code) {
        answer_err(request, &command->err);
        return;
    }
    answer_begin(&answer);
    show_pool(&answer.json, &command->pool);
    answer_send(&answer, request, 200);
}

static void act_on_name(struct site *site, struct call *call, enum command_kind kind,
                        errand_answer answer)
{
    struct command *command = command_new(kind);
    struct err err = ERR_INIT;

    command->name = xstrdup(call->wild[0]);
    if (body_reason(request_body(call->request), command, &err))
        refuse(call, command, &err);
    else
        act_send(site, call, command, answer);
}

void api_drain(struct site *site, struct call *call)
{
    act_on_name(site, call, COMMAND_SLAVE_DRAIN, on_slave);
}

void api_undrain(struct site *site, struct call *call)
{
    act_on_name(site, call, COMMAND_SLAVE_RESUME, on_slave);
}

void api_pause(struct site *site, struct call *call)
{
    act_on_name(site, call, COMMAND_POOL_PAUSE, on_pool);
}

void api_unpause(struct site *site, struct call *call)
{
    act_on_name(site, call, COMMAND_POOL_RESUME, on_pool);
}

/* ---- reload ---- */

static void answer_bad_file(struct request *request, const struct command *command)
{
    struct answer answer;
    struct json_out *json = &answer.json;

    answer_begin(&answer);
    json_object(json);
    json_key(json, "error");
    json_object(json);
    json_kv_str(json, "code", err_code_name(ERR_CONFIG));
    json_kv_str(json, "message",
                command->err.code ? command->err.msg
                                  : "the configuration has errors; nothing has changed");
    json_end(json);
    json_key(json, "errors");
    show_texts(json, &command->errors);
    json_end(json);
    answer_send(&answer, request, 422);
}

static void key_texts(struct json_out *json, const char *key, const text_list *list)
{
    json_key(json, key);
    show_texts(json, list);
}

static void on_reloaded(struct site *site, struct request *request, const struct command *command)
{
    struct answer answer;

    (void)site;
    if (command->errors.n > 0 || command->err.code == ERR_CONFIG) {
        answer_bad_file(request, command);
        return;
    }
    if (command->err.code) {
        answer_err(request, &command->err);
        return;
    }
    answer_begin(&answer);
    json_object(&answer.json);
    key_texts(&answer.json, "added", &command->added);
    key_texts(&answer.json, "changed", &command->changed);
    key_texts(&answer.json, "removed", &command->removed);
    key_texts(&answer.json, "draining", &command->draining);
    json_end(&answer.json);
    answer_send(&answer, request, 200);
}

void api_reload(struct site *site, struct call *call)
{
    struct err err = ERR_INIT;

    if (body_none(request_body(call->request), &err))
        answer_err(call->request, &err);
    else
        act_send(site, call, command_new(COMMAND_RELOAD), on_reloaded);
}
