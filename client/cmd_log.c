/* `tailrace log`: which steps' logs are copied, and in which order; logcopy does the copying. */
#include "client/cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/cli.h"
#include "client/logcopy.h"
#include "client/uri.h"
#include "common/base/mem.h"
#include "common/base/text.h"

enum { LOG_POLL_RUNNING_MS = 200, LOG_POLL_WAITING_MS = 1000 };

/* What the build looks like now. */
struct sight {
    bool finished, running;
    int64_t attempt; /* the newest */
    struct api_reply reply;
};

static enum err_code look(struct logcopy *copy, struct sight *sight, struct err *err)
{
    char path[64];
    const char *state;
    enum err_code rc;

    (void)snprintf(path, sizeof path, "/builds/%" PRIu64, copy->build);
    rc = logcopy_get(copy, path, &sight->reply, err);
    if (rc)
        return rc;
    state = json_get_text(sight->reply.doc, "state");
    sight->finished = state && strcmp(state, "finished") == 0;
    sight->running = state && strcmp(state, "running") == 0;
    sight->attempt = json_get_int(sight->reply.doc, "attempt", 0);
    return ERR_OK;
}

/* Whether the attempt that is read ended with the loss of its slave. */
static bool attempt_is_lost(const struct logcopy *copy, const struct sight *sight)
{
    const struct json *attempts = json_get(sight->reply.doc, "attempts");

    for (size_t i = 0; i < json_len(attempts); i++) {
        const struct json *attempt = json_at(attempts, i);
        const char *result = json_get_text(attempt, "result");

        if (json_get_int(attempt, "attempt", 0) == copy->attempt)
            return result && strcmp(result, "lost") == 0;
    }
    return false;
}

/* Looks again after a moment. */
static enum err_code look_later(struct logcopy *copy, struct sight *sight, struct err *err)
{
    retry_sleep(sight->running ? LOG_POLL_RUNNING_MS : LOG_POLL_WAITING_MS);
    return look(copy, sight, err);
}

/* With follow, waits until the build has an attempt; then copy->attempt is the one to read. */
static enum err_code attempt_choose(struct logcopy *copy, uint64_t wanted, struct sight *sight,
                                    struct err *err)
{
    enum err_code rc = ERR_OK;

    while (rc == ERR_OK && copy->follow && sight->attempt == 0 && !sight->finished)
        rc = look_later(copy, sight, err);
    copy->attempt = wanted ? (int64_t)wanted : sight->attempt;
    return rc;
}

/* The number of the step that the user named, by number or name. */
static enum err_code step_find(const struct json *build, const char *word, int64_t *number,
                               struct err *err)
{
    const struct json *steps = json_get(build, "steps");
    VEC(const char *) names = {0};
    const char *near;
    uint64_t n;

    if (text_u64(view_of(word), 1, 100000, &n, NULL) == ERR_OK) {
        *number = (int64_t)n;
        return ERR_OK;
    }
    for (size_t i = 0; i < json_len(steps); i++) {
        const char *name = json_get_text(json_at(steps, i), "name");

        if (!name)
            continue;
        if (strcmp(name, word) == 0) {
            *number = json_get_int(json_at(steps, i), "number", 0);
            vec_release(&names);
            return ERR_OK;
        }
        vec_push(&names, name);
    }
    near = text_nearest(view_of(word), names.v, names.n);
    (void)err_set(err, ERR_NOTFOUND, "the build has no step '%.100s'%s%.100s%s", word,
                  near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    vec_release(&names);
    return ERR_NOTFOUND;
}

/* A step of copy->attempt. ERR_NOTFOUND: there are fewer. */
static enum err_code step_get(struct logcopy *copy, int64_t number, struct api_reply *reply,
                              struct err *err)
{
    char path[128];

    (void)snprintf(path, sizeof path, "/builds/%" PRIu64 "/steps/%" PRId64 "?attempt=%" PRId64,
                   copy->build, number, copy->attempt);
    return logcopy_get(copy, path, reply, err);
}

/* The step's name, on standard error: standard output has the bytes of the logs alone. */
static void heading(const struct json *step)
{
    struct term to;
    struct str text = STR_INIT(PRINT_MAX);
    struct str out = STR_INIT(PRINT_MAX);

    term_init(&to, STDERR_FILENO);
    str_printf(&text, "==> step %" PRId64 " ", json_get_int(step, "number", 0));
    print_clean(&text, json_get_text(step, "name"));
    str_put(&text, " <==");
    print_styled(&out, to.colour, STYLE_BOLD, str_cstr(&text));
    str_putc(&out, '\n');
    term_write(&to, &out);
    str_release(&text);
    str_release(&out);
}

/* Copies a step that has begun; *begun says whether it has. */
static enum err_code step_copy(struct logcopy *copy, int64_t number, bool *begun, struct err *err)
{
    struct api_reply reply = API_REPLY_INIT;
    enum err_code rc = step_get(copy, number, &reply, err);
    const char *state;

    if (rc == ERR_OK) {
        state = json_get_text(reply.doc, "state");
        *begun = state && strcmp(state, "waiting") != 0;
        if (*begun && !(json_is_null(json_get(reply.doc, logcopy_key(copy))) &&
                        strcmp(state, "finished") == 0)) {
            heading(reply.doc);
            rc = logcopy_step(copy, number, err);
        }
    }
    api_reply_release(&reply);
    return rc;
}

static enum err_code copy_all(struct logcopy *copy, struct err *err)
{
    enum err_code rc = ERR_OK;
    bool begun;

    for (int64_t number = 1; rc == ERR_OK && !copy->reader_gone; number++)
        rc = step_copy(copy, number, &begun, err);
    return rc == ERR_NOTFOUND ? ERR_OK : rc; /* behind the last one */
}

/*
 * After the end of what there is of copy->attempt: whether there is more to come, and then waits
 * for it and makes copy->attempt the one to go on with. Only a lost attempt has a next one.
 */
static enum err_code attempt_next(struct logcopy *copy, struct sight *sight, bool *more,
                                  struct err *err)
{
    bool told = false;
    enum err_code rc = ERR_OK;

    *more = false;
    while (rc == ERR_OK && sight->attempt <= copy->attempt && !sight->finished &&
           attempt_is_lost(copy, sight)) {
        if (!told)
            print_complain("the slave was lost; the build waits for another");
        told = true;
        rc = look_later(copy, sight, err);
    }
    if (rc)
        return rc;
    *more = sight->attempt > copy->attempt;
    if (*more) {
        copy->attempt = sight->attempt;
        print_complain("%sattempt %" PRId64 " of the build", told ? "" : "the slave was lost; ",
                       copy->attempt);
    } else if (attempt_is_lost(copy, sight)) {
        print_complain("the slave was lost, and the build has ended");
    }
    return ERR_OK;
}

/* Step after step as they begin, attempt after attempt, until the build has ended. */
static enum err_code follow_all(struct logcopy *copy, bool one_attempt, struct sight *sight,
                                struct err *err)
{
    int64_t number = 1;
    enum err_code rc = ERR_OK;

    while (rc == ERR_OK && !copy->reader_gone) {
        bool over =
            sight->finished || sight->attempt > copy->attempt || attempt_is_lost(copy, sight);
        bool begun = false;
        bool more = false;

        rc = step_copy(copy, number, &begun, err);
        if (rc == ERR_OK && (begun || over)) {
            number++;
            continue;
        }
        if (rc && rc != ERR_NOTFOUND)
            return rc;
        if (!over) {
            rc = look_later(copy, sight, err);
            continue;
        }
        if (one_attempt)
            return ERR_OK;
        rc = attempt_next(copy, sight, &more, err);
        if (rc || !more)
            return rc;
        number = 1;
    }
    return rc;
}

/* One step, attempt after attempt as long as slaves are lost. */
static enum err_code follow_step(struct logcopy *copy, int64_t number, bool one_attempt,
                                 struct sight *sight, struct err *err)
{
    bool more = true;
    enum err_code rc = ERR_OK;

    while (rc == ERR_OK && more) {
        rc = logcopy_step(copy, number, err);
        if (rc || one_attempt || copy->reader_gone)
            return rc;
        rc = look(copy, sight, err);
        if (rc == ERR_OK)
            rc = attempt_next(copy, sight, &more, err);
    }
    return rc;
}

/* A step without that log is worth a word: nothing on standard output could mean anything. */
static enum err_code copy_step(struct logcopy *copy, int64_t number, struct err *err)
{
    struct api_reply reply = API_REPLY_INIT;
    enum err_code rc = step_get(copy, number, &reply, err);

    if (rc == ERR_OK && json_is_null(json_get(reply.doc, logcopy_key(copy))))
        print_complain(copy->stderr_log ? "the step has no log of its standard error alone"
                                        : "the step has written nothing");
    else if (rc == ERR_OK)
        rc = logcopy_step(copy, number, err);
    api_reply_release(&reply);
    return rc;
}

/* Why a build without an attempt has no logs. Asked for a step, that is an error. */
static enum err_code nothing_ran(const struct logcopy *copy, const struct sight *sight,
                                 bool step_wanted, struct err *err)
{
    const char *result = json_get_text(sight->reply.doc, "result");
    const char *note = json_get_text(sight->reply.doc, "note");
    struct err why = ERR_INIT;

    if (sight->finished)
        (void)err_set(&why, ERR_NOTFOUND, "build %" PRIu64 " ran no step: %.40s%s%.300s",
                      copy->build, result ? result : "?", note ? ": " : "", note ? note : "");
    else
        (void)err_set(&why, ERR_NOTFOUND, "build %" PRIu64 " has not been started", copy->build);
    if (step_wanted) {
        *err = why;
        return ERR_NOTFOUND;
    }
    print_complain("%s", why.msg);
    return ERR_OK;
}

static enum err_code run(struct logcopy *copy, const struct args *args, struct err *err)
{
    struct sight sight = {.reply = API_REPLY_INIT};
    bool one_step = args->words.n > 1;
    bool one_attempt = args->attempt != 0;
    int64_t number = 0;
    enum err_code rc;

    rc = look(copy, &sight, err);
    if (rc == ERR_OK)
        rc = attempt_choose(copy, args->attempt, &sight, err);
    if (rc == ERR_OK && copy->attempt == 0)
        rc = nothing_ran(copy, &sight, one_step, err);
    else if (rc == ERR_OK && one_step)
        rc = step_find(sight.reply.doc, args->words.v[1], &number, err);
    if (rc == ERR_OK && copy->attempt) {
        if (number && copy->follow)
            rc = follow_step(copy, number, one_attempt, &sight, err);
        else if (number)
            rc = copy_step(copy, number, err);
        else if (copy->follow)
            rc = follow_all(copy, one_attempt, &sight, err);
        else
            rc = copy_all(copy, err);
    }
    api_reply_release(&sight.reply);
    return rc;
}

int cmd_log(struct cli *cli)
{
    bool follow = cli->args.follow;
    struct logcopy copy = {
        .api = &cli->api,
        .fd = STDOUT_FILENO,
        .follow = follow,
        .stderr_log = cli->args.stderr_log,
        .patience = PATIENCE_INIT(cli->clock, follow ? PATIENCE_LONG_MS : PATIENCE_SHORT_MS),
    };
    struct err err = ERR_INIT;

    if (uri_build_id(cli->args.words.v[0], &copy.build, &err))
        return cli_trouble(&err);
    if (run(&copy, &cli->args, &err))
        return cli_trouble(&err);
    return CLI_OK;
}
