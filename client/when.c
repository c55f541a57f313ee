#include "client/when.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { MINUTE_S = 60, HOUR_S = 3600, DAY_S = 86400 };

/* Up to three digits after the dot count; more are read and dropped. Returns what follows them. */
static const char *fraction_ms(const char *text, int64_t *ms)
{
    int64_t unit = 100;

    *ms = 0;
    if (*text != '.')
        return text;
    for (text++; *text >= '0' && *text <= '9'; text++) {
        *ms += unit * (*text - '0');
        unit /= 10;
    }
    return text;
}

int64_t when_parse(const char *text)
{
    struct tm tm = {0};
    const char *rest;
    int64_t ms;

    if (!text)
        return -1;
    rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (!rest)
        return -1;
    rest = fraction_ms(rest, &ms);
    if (strcmp(rest, "Z") != 0 && strcmp(rest, "+00:00") != 0)
        return -1;
    return (int64_t)timegm(&tm) * 1000 + ms;
}

/* "12 s", "3 min", "5 h", "2 days". */
static void coarse(int64_t s, const char *before, const char *after, char out[WHEN_MAX])
{
    if (s < 2 * MINUTE_S)
        (void)snprintf(out, WHEN_MAX, "%s%lld s%s", before, (long long)s, after);
    else if (s < 2 * HOUR_S)
        (void)snprintf(out, WHEN_MAX, "%s%lld min%s", before, (long long)s / MINUTE_S, after);
    else if (s < 2 * DAY_S)
        (void)snprintf(out, WHEN_MAX, "%s%lld h%s", before, (long long)s / HOUR_S, after);
    else
        (void)snprintf(out, WHEN_MAX, "%s%lld days%s", before, (long long)s / DAY_S, after);
}

const char *when_ago(int64_t then_ms, int64_t now_ms, char out[WHEN_MAX])
{
    int64_t ago_s = (now_ms - then_ms) / 1000;

    if (then_ms < 0)
        (void)snprintf(out, WHEN_MAX, "-");
    else if (ago_s > -2 && ago_s < 2)
        (void)snprintf(out, WHEN_MAX, ago_s < 0 ? "now" : "just now");
    else if (ago_s < 0)
        coarse(-ago_s, "in ", "", out);
    else
        coarse(ago_s, "", " ago", out);
    return out;
}

const char *when_contact(int64_t connected_ms, int64_t seen_ms, int64_t now_ms, char out[WHEN_MAX])
{
    int64_t since_s = (now_ms - (connected_ms >= 0 ? connected_ms : seen_ms)) / 1000;

    if (since_s < 0) /* clocks differ */
        since_s = 0;
    if (connected_ms >= 0)
        coarse(since_s, "connected ", "", out);
    else if (seen_ms >= 0)
        coarse(since_s, "seen ", " ago", out);
    else
        (void)snprintf(out, WHEN_MAX, "never seen");
    return out;
}

const char *when_span(double seconds, char out[WHEN_MAX])
{
    long long s;

    if (!(seconds >= 0) || seconds > 1e9) {
        (void)snprintf(out, WHEN_MAX, "-");
        return out;
    }
    s = (long long)(seconds + 0.5);
    if (seconds < 9.95)
        (void)snprintf(out, WHEN_MAX, "%.1f s", seconds);
    else if (s < MINUTE_S)
        (void)snprintf(out, WHEN_MAX, "%lld s", s);
    else if (s < HOUR_S)
        (void)snprintf(out, WHEN_MAX, "%lld min %02lld s", s / MINUTE_S, s % MINUTE_S);
    else
        (void)snprintf(out, WHEN_MAX, "%lld h %02lld min", s / HOUR_S, s % HOUR_S / MINUTE_S);
    return out;
}

const char *when_between(int64_t from_ms, int64_t to_ms, char out[WHEN_MAX])
{
    if (from_ms < 0 || to_ms < 0)
        return when_span(-1, out);
    return when_span(to_ms > from_ms ? (double)(to_ms - from_ms) / 1000 : 0, out);
}
