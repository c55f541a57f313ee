#include "client/points.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/print.h"
#include "common/base/mem.h"
#include "common/base/text.h"

enum { VALUE_MAX = 48 };

void points_init(struct points *points)
{
    memset(points, 0, sizeof *points);
}

void points_release(struct points *points)
{
    struct points_metric *metric;

    VEC_FOREACH (&points->metrics, metric) {
        free(metric->name);
        free(metric->unit);
        vec_release(&metric->values);
    }
    vec_release(&points->metrics);
}

static const char *step_name(const struct json *steps, int64_t number)
{
    for (size_t i = 0; i < json_len(steps); i++)
        if (json_get_int(json_at(steps, i), "number", 0) == number)
            return json_get_text(json_at(steps, i), "name");
    return NULL;
}

static void word_add(struct str *name, const char *word)
{
    if (!word || !*word)
        return;
    if (name->n)
        str_putc(name, ' ');
    print_clean(name, word);
}

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* The caller frees. A suite called as the builder and a test called as the step are those of the
 * step itself: no need to say it twice. */
static char *metric_name(const struct json *point, const struct json *build)
{
    struct str name = STR_INIT(32 * PRINT_CELL_MAX);
    const char *suite = json_get_text(point, "suite");
    const char *test = json_get_text(point, "test");
    const char *step = step_name(json_get(build, "steps"), json_get_int(point, "step", 0));

    word_add(&name, step);
    if (!same(suite, step) && !same(suite, json_get_text(build, "builder")))
        word_add(&name, suite);
    if (!same(test, step))
        word_add(&name, test);
    word_add(&name, json_get_text(point, "metric"));
    return str_detach(&name);
}

static struct points_metric *metric_at(struct points *points, int64_t step, char *name,
                                       const char *unit)
{
    struct str clean = STR_INIT(8 * PRINT_CELL_MAX);
    struct points_metric *metric;

    VEC_FOREACH (&points->metrics, metric) {
        if (metric->step == step && strcmp(metric->name, name) == 0) {
            free(name);
            return metric;
        }
    }
    metric = vec_add(&points->metrics);
    metric->step = step;
    metric->name = name;
    print_clean(&clean, unit ? unit : "");
    metric->unit = str_detach(&clean);
    return metric;
}

void points_add(struct points *points, const struct json *page, const struct json *build)
{
    const struct json *list = json_get(page, "points");

    for (size_t i = 0; i < json_len(list); i++) {
        const struct json *point = json_at(list, i);
        double value = json_number(json_get(point, "value"), (double)NAN);
        struct points_metric *metric;

        if (!isfinite(value))
            continue;
        metric = metric_at(points, json_get_int(point, "step", 0), metric_name(point, build),
                           json_get_text(point, "unit"));
        vec_push(&metric->values, value);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Three digits that count; of what has more before the dot, all of those. */
static const char *value_show(double value, bool bytes, char out[VALUE_MAX])
{
    if (bytes && value >= 0 && value < 1e18)
        return text_show_size((uint64_t)value, out);
    if (fabs(value) >= 100 && fabs(value) < 1e15)
        (void)snprintf(out, VALUE_MAX, "%.0f", value);
    else
        (void)snprintf(out, VALUE_MAX, "%.3g", value);
    return out;
}

const char *points_describe(struct points_metric *metric, char out[POINTS_TEXT_MAX])
{
    bool bytes = strcmp(metric->unit, "bytes") == 0;
    const char *unit = bytes ? "" : metric->unit;
    const double *v = metric->values.v;
    size_t n = metric->values.n;
    char median[VALUE_MAX];
    char least[VALUE_MAX];
    char most[VALUE_MAX];

    qsort(metric->values.v, n, sizeof *v, by_value);
    (void)value_show(n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2, bytes, median);
    if (n == 1)
        (void)snprintf(out, POINTS_TEXT_MAX, "%s%s%.40s (1 run)", median, *unit ? " " : "", unit);
    else
        (void)snprintf(out, POINTS_TEXT_MAX, "%s%s%.40s (%zu runs, %s to %s)", median,
                       *unit ? " " : "", unit, n, value_show(v[0], bytes, least),
                       value_show(v[n - 1], bytes, most));
    return out;
}
