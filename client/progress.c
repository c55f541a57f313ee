#include "client/progress.h"

#include <string.h>

#include "client/print.h"
#include "client/when.h"
#include "common/base/mem.h"

enum { BAR_COLUMNS = 20 };

void progress_init(struct progress *p, uint64_t id)
{
    memset(p, 0, sizeof *p);
    p->id = id;
    p->expected_s = -1;
    p->queued_ms = p->started_ms = p->finished_ms = -1;
}

static void steps_clear(struct progress *p)
{
    for (size_t i = 0; i < p->steps.n; i++) {
        free(p->steps.v[i].name);
        free(p->steps.v[i].result);
        free(p->steps.v[i].reason);
    }
    p->steps.n = 0;
}

void progress_release(struct progress *p)
{
    char **const texts[] = {&p->builder, &p->branch, &p->state, &p->result,
                            &p->slave,   &p->url,    &p->note,  &p->waits};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        free(*texts[i]);
        *texts[i] = NULL;
    }
    steps_clear(p);
    vec_release(&p->steps);
}

/* A cleaned copy replaces *to; an absent text leaves NULL. */
static void text_set(char **to, const char *text)
{
    struct str clean = STR_INIT(8 * PRINT_CELL_MAX);

    free(*to);
    *to = NULL;
    if (!text)
        return;
    print_clean(&clean, text);
    *to = str_detach(&clean);
}

bool progress_is(const struct progress *p, const char *state)
{
    return p->state && strcmp(p->state, state) == 0;
}

bool progress_finished(const struct progress *p)
{
    return progress_is(p, "finished");
}

bool progress_passed(const struct progress *p)
{
    return progress_finished(p) && p->result &&
           (strcmp(p->result, "success") == 0 || strcmp(p->result, "warnings") == 0);
}

static const char *or_dash(const char *text)
{
    return text ? text : "-";
}

/* ---- steps ---- */

/* "failure, exit 2", "exception, total limit: not done after 2 s". */
static void step_outcome(const struct progress_step *step, struct str *out)
{
    str_put(out, step->result);
    if (step->reason)
        str_printf(out, ", %s", step->reason);
    else if (step->exit_code > 0)
        str_printf(out, ", exit %lld", (long long)step->exit_code);
}

static void step_tell(const struct progress *p, struct progress_step *step, struct str *lines)
{
    unsigned long long id = p->id;
    char took[WHEN_MAX];

    if (!step->told_start && step->started_ms >= 0) {
        str_printf(lines, "build %llu step %lld %s started\n", id, (long long)step->number,
                   or_dash(step->name));
        step->told_start = true;
    }
    if (step->told_end || !step->result)
        return;
    step->told_end = true;
    str_printf(lines, "build %llu step %lld %s finished: ", id, (long long)step->number,
               or_dash(step->name));
    step_outcome(step, lines);
    if (step->started_ms >= 0)
        str_printf(lines, " (%s)", when_between(step->started_ms, step->finished_ms, took));
    str_putc(lines, '\n');
}

/* The step of this number, new in its place when there is none. */
static struct progress_step *step_at(struct progress *p, int64_t number)
{
    size_t i = p->steps.n;

    while (i > 0 && p->steps.v[i - 1].number >= number)
        i--;
    if (i < p->steps.n && p->steps.v[i].number == number)
        return &p->steps.v[i];
    (void)vec_add(&p->steps);
    memmove(&p->steps.v[i + 1], &p->steps.v[i], (p->steps.n - 1 - i) * sizeof p->steps.v[0]);
    p->steps.v[i] = (struct progress_step){
        .number = number, .exit_code = -1, .started_ms = -1, .finished_ms = -1};
    return &p->steps.v[i];
}

static struct progress_step *step_fold(struct progress *p, const struct json *json)
{
    struct progress_step *step = step_at(p, json_get_int(json, "number", 0));
    const char *state = json_get_text(json, "state");

    if (step->result || (step->running && state && strcmp(state, "waiting") == 0))
        return step; /* news that are older than ours */
    text_set(&step->name, json_get_text(json, "name"));
    step->running = state && strcmp(state, "running") == 0;
    step->started_ms = when_parse(json_get_text(json, "started_at"));
    step->finished_ms = when_parse(json_get_text(json, "finished_at"));
    step->exit_code = json_get_int(json, "exit_code", -1);
    if (state && strcmp(state, "finished") == 0) {
        const char *result = json_get_text(json, "result");

        text_set(&step->result, result ? result : "exception");
        text_set(&step->reason, json_get_text(json, "reason"));
    }
    return step;
}

void progress_step(struct progress *p, int64_t attempt, const struct json *json, struct str *lines)
{
    if (attempt == p->attempt && !progress_finished(p))
        step_tell(p, step_fold(p, json), lines);
}

/* ---- the build ---- */

static void state_tell(const struct progress *p, struct str *lines)
{
    str_printf(lines, "build %llu ", (unsigned long long)p->id);
    if (progress_is(p, "running")) {
        str_printf(lines, "running on %s", or_dash(p->slave));
        if (p->attempt > 1)
            str_printf(lines, " (attempt %lld)", (long long)p->attempt);
    } else if (progress_is(p, "detached")) {
        str_printf(lines, "detached: slave %s is out of touch", or_dash(p->slave));
    } else {
        str_printf(lines, "%s (%s on %s)", or_dash(p->state), or_dash(p->builder),
                   or_dash(p->branch));
    }
    str_putc(lines, '\n');
}

static void build_fold(struct progress *p, const struct json *build)
{
    int64_t attempt = json_get_int(build, "attempt", 0);

    if (attempt > p->attempt) {
        steps_clear(p);
        p->attempt = attempt;
    }
    text_set(&p->builder, json_get_text(build, "builder"));
    text_set(&p->branch, json_get_text(build, "branch"));
    text_set(&p->state, json_get_text(build, "state"));
    text_set(&p->result, json_get_text(build, "result"));
    text_set(&p->slave, json_get_text(build, "slave"));
    text_set(&p->url, json_get_text(build, "url"));
    text_set(&p->note, json_get_text(build, "note"));
    p->expected_s = json_number(json_get(build, "expected_s"), -1);
    p->queued_ms = when_parse(json_get_text(build, "queued_at"));
    p->started_ms = when_parse(json_get_text(build, "started_at"));
    p->finished_ms = when_parse(json_get_text(build, "finished_at"));
}

void progress_build(struct progress *p, const struct json *build, struct str *lines)
{
    const struct json *steps = json_get(build, "steps");
    bool first = !p->known;
    int64_t old_attempt = p->attempt;
    char *old_state;

    if (progress_finished(p) || json_get_int(build, "attempt", 0) < p->attempt)
        return;
    old_state = p->state;
    p->state = NULL;
    build_fold(p, build);
    p->known = true;
    if (!old_state || strcmp(old_state, or_dash(p->state)) != 0 || old_attempt != p->attempt) {
        text_set(&p->waits, NULL);
        if (!progress_finished(p))
            state_tell(p, lines);
    }
    free(old_state);
    for (size_t i = 0; i < json_len(steps); i++) {
        struct progress_step *step = step_fold(p, json_at(steps, i));

        if (first && step->result)
            step->told_start = step->told_end = true;
        step_tell(p, step, lines);
    }
}

void progress_waits(struct progress *p, const char *sentence, struct str *lines)
{
    bool news = !p->waits && sentence;

    if (!progress_is(p, "queued") && !progress_is(p, "waiting"))
        sentence = NULL;
    text_set(&p->waits, sentence);
    if (news && p->waits)
        str_printf(lines, "build %llu %s: %s\n", (unsigned long long)p->id, p->state, p->waits);
}

/* ---- the line ---- */

static void bar(struct str *out, double share)
{
    int full = (int)(share * BAR_COLUMNS);

    str_put(out, " [");
    for (int i = 0; i < BAR_COLUMNS; i++)
        str_putc(out, i < full ? '=' : i == full ? '>' : ' ');
    str_putc(out, ']');
}

/* "step 2 of 4 test": the one that runs, else how many are done. */
static void line_step(const struct progress *p, struct str *out)
{
    const struct progress_step *step;
    size_t done = 0;

    VEC_FOREACH (&p->steps, step) {
        if (step->running) {
            str_printf(out, "step %lld of %zu %s", (long long)step->number, p->steps.n,
                       or_dash(step->name));
            return;
        }
        done += step->result != NULL;
    }
    if (p->steps.n)
        str_printf(out, "%zu of %zu steps done", done, p->steps.n);
    else
        str_put(out, "starting");
}

static int64_t elapsed_whole_s(int64_t since_ms, int64_t now_ms)
{
    return since_ms >= 0 && now_ms > since_ms ? (now_ms - since_ms) / 1000 : 0;
}

/* In whole seconds: tenths would make the line restless. */
static void line_elapsed(int64_t since_ms, int64_t now_ms, struct str *out)
{
    int64_t s = elapsed_whole_s(since_ms, now_ms);
    char time[WHEN_MAX];

    if (s < 10)
        str_printf(out, " %d s", (int)s);
    else
        str_printf(out, " %s", when_span((double)s, time));
}

static void line_running(const struct progress *p, int64_t now_ms, struct str *out)
{
    char time[WHEN_MAX];
    double elapsed_s = (double)elapsed_whole_s(p->started_ms, now_ms);

    line_step(p, out);
    if (progress_is(p, "detached"))
        str_printf(out, ", slave %s is out of touch", or_dash(p->slave));
    str_putc(out, ',');
    line_elapsed(p->started_ms, now_ms, out);
    if (p->expected_s <= 0)
        return;
    str_printf(out, " of about %s", when_span(p->expected_s, time));
    bar(out, elapsed_s < p->expected_s ? elapsed_s / p->expected_s : 1);
}

void progress_line(const struct progress *p, int64_t now_ms, unsigned width, struct str *out)
{
    struct str line = STR_INIT(PROGRESS_LINES_MAX);
    struct view text;

    str_printf(&line, "build %llu %s on %s: ", (unsigned long long)p->id, or_dash(p->builder),
               or_dash(p->branch));
    if (progress_is(p, "running") || progress_is(p, "detached")) {
        line_running(p, now_ms, &line);
    } else {
        str_printf(&line, "%s for", or_dash(p->state));
        line_elapsed(p->queued_ms, now_ms, &line);
        if (p->waits)
            str_printf(&line, ", %s", p->waits);
    }
    text = str_view(&line);
    text.n = print_fit(text, width);
    str_put_view(out, text);
    str_release(&line);
}

/* ---- the verdict ---- */

static bool step_is_bad(const struct progress_step *step)
{
    return step->result &&
           (strcmp(step->result, "failure") == 0 || strcmp(step->result, "exception") == 0);
}

/* Steps that went well or were not run have nothing to add. */
static bool step_is_worth_a_word(const struct progress_step *step)
{
    return step_is_bad(step) ||
           (step->result && step->reason && strcmp(step->result, "success") != 0 &&
            strcmp(step->result, "skipped") != 0);
}

static void verdict_step(const struct progress *p, const struct progress_step *step,
                         struct str *out)
{
    str_printf(out, "  step %lld %s: ", (long long)step->number, or_dash(step->name));
    step_outcome(step, out);
    str_printf(out, "; see: tailrace log %llu %lld\n", (unsigned long long)p->id,
               (long long)step->number);
}

void progress_verdict(const struct progress *p, bool colour, struct str *out)
{
    const char *result = p->result ? p->result : "exception";
    const struct progress_step *step;
    bool told = progress_passed(p);
    char took[WHEN_MAX];

    str_printf(out, "build %llu finished: ", (unsigned long long)p->id);
    print_styled(out, colour, print_style_of(result), result);
    if (p->started_ms >= 0)
        str_printf(out, " after %s", when_between(p->started_ms, p->finished_ms, took));
    str_printf(out, "  %s\n", p->url ? p->url : "");
    VEC_FOREACH (&p->steps, step) {
        if (!step_is_worth_a_word(step))
            continue;
        verdict_step(p, step, out);
        told = true;
    }
    if (!told && p->note)
        str_printf(out, "  %s\n", p->note);
}
