#include "common/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

enum { QUOTED_MAX = 60 }; /* bytes of the user's text that a sentence repeats */

static const struct unit duration_units[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};

static const struct unit size_units[] = {
    {"B", 1},
    {"kB", 1000},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", 1000000000000},
    {"K", 1ULL << 10},
    {"M", 1ULL << 20},
    {"G", 1ULL << 30},
    {"T", 1ULL << 40},
    {"KiB", 1ULL << 10},
    {"MiB", 1ULL << 20},
    {"GiB", 1ULL << 30},
    {"TiB", 1ULL << 40},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static enum err_code refuse(struct view text, const char *expected, struct err *err)
{
    struct str shown = STR_INIT(4 * QUOTED_MAX + 8);

    text_escape(&shown, text, QUOTED_MAX);
    (void)err_set(err, ERR_CONFIG, "'%s%s' is not %s", str_cstr(&shown),
                  text.n > QUOTED_MAX ? "..." : "", expected);
    str_release(&shown);
    return ERR_CONFIG;
}

/* Reads digits from *at on; false without any, or when they pass UINT64_MAX. */
static bool take_number(struct view text, size_t *at, uint64_t *number)
{
    size_t i = *at;
    uint64_t sum = 0;

    for (; i < text.n && is_digit(text.p[i]); i++) {
        uint64_t digit = (uint64_t)(text.p[i] - '0');

        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    if (i == *at)
        return false;
    *at = i;
    *number = sum;
    return true;
}

/* Reads letters from *at on, up to the next digit, and finds them among the units. */
static const struct unit *take_unit(struct view text, size_t *at, const struct unit *units,
                                    size_t n)
{
    size_t begin = *at;
    struct view word;

    while (*at < text.n && !is_digit(text.p[*at]))
        (*at)++;
    word = view_bytes(text.p + begin, *at - begin);
    for (size_t i = 0; i < n; i++) {
        if (view_is(word, units[i].name))
            return &units[i];
    }
    return NULL;
}

/* Adds number * factor to *sum; false when that passes UINT64_MAX. */
static bool add_product(uint64_t *sum, uint64_t number, uint64_t factor)
{
    if (number > (UINT64_MAX - *sum) / factor)
        return false;
    *sum += number * factor;
    return true;
}

enum err_code text_duration(struct view text, uint64_t *ms, struct err *err)
{
    static const char expected[] = "a duration: expected for example 500ms, 30s, 2m or 1h30m";
    uint64_t before = UINT64_MAX; /* units go from large to small, each at most once */
    uint64_t sum = 0;
    size_t at = 0;

    do {
        const struct unit *unit;
        uint64_t number;

        if (!take_number(text, &at, &number))
            return refuse(text, expected, err);
        if (at == text.n && before == UINT64_MAX)
            unit = &duration_units[3];
        else
            unit = take_unit(text, &at, duration_units,
                             sizeof duration_units / sizeof duration_units[0]);
        if (!unit || unit->factor >= before || !add_product(&sum, number, unit->factor))
            return refuse(text, expected, err);
        before = unit->factor;
    } while (at < text.n);
    *ms = sum;
    return ERR_OK;
}

enum err_code text_size(struct view text, uint64_t *bytes, struct err *err)
{
    static const char expected[] = "a size: expected for example 4096, 64KiB, 200MiB or 2GB";
    const struct unit *unit = &size_units[0];
    uint64_t number;
    uint64_t sum = 0;
    size_t at = 0;

    if (!take_number(text, &at, &number))
        return refuse(text, expected, err);
    if (at < text.n)
        unit = take_unit(text, &at, size_units, sizeof size_units / sizeof size_units[0]);
    if (!unit || at < text.n || !add_product(&sum, number, unit->factor))
        return refuse(text, expected, err);
    *bytes = sum;
    return ERR_OK;
}

enum err_code text_u64(struct view text, uint64_t least, uint64_t most, uint64_t *out,
                       struct err *err)
{
    bool whole;
    uint64_t number;
    size_t at = 0;
    char expected[96];

    whole = take_number(text, &at, &number) && at == text.n;
    if (whole && number >= least && number <= most) {
        *out = number;
        return ERR_OK;
    }
    if (most == UINT64_MAX)
        (void)snprintf(expected, sizeof expected, "%s: expected %" PRIu64 " or more",
                       whole ? "large enough" : "a whole number", least);
    else
        (void)snprintf(expected, sizeof expected, "%s: expected %" PRIu64 " to %" PRIu64,
                       whole ? "in the range" : "a whole number", least, most);
    return refuse(text, expected, err);
}

const char *text_show_duration(uint64_t ms, char out[TEXT_SHORT_MAX])
{
    uint64_t s = ms / 1000;

    if (ms < 1000)
        (void)snprintf(out, TEXT_SHORT_MAX, "%" PRIu64 " ms", ms);
    else if (s < 60)
        (void)snprintf(out, TEXT_SHORT_MAX, "%" PRIu64 ".%d s", s, (int)(ms % 1000 / 100));
    else if (s < 3600)
        (void)snprintf(out, TEXT_SHORT_MAX, "%" PRIu64 " min %02d s", s / 60, (int)(s % 60));
    else if (s < 86400)
        (void)snprintf(out, TEXT_SHORT_MAX, "%" PRIu64 " h %02d min", s / 3600, (int)(s / 60 % 60));
    else
        (void)snprintf(out, TEXT_SHORT_MAX, "%" PRIu64 " d %02d h", s / 86400,
                       (int)(s / 3600 % 24));
    return out;
}

const char *text_show_size(uint64_t bytes, char out[TEXT_SHORT_MAX])
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned i = 0;
    uint64_t whole;
    uint64_t rest;

    while (i < 6 && bytes >> (10 * (i + 1)) > 0)
        i++;
    whole = bytes >> (10 * i);
    rest = bytes & ((1ULL << (10 * i)) - 1);
    if (i > 0 && whole < 10)
        (void)snprintf(out, TEXT_SHORT_MAX, "%" PRIu64 ".%d %s", whole,
                       (int)(rest * 10 >> (10 * i)), names[i]);
    else
        (void)snprintf(out, TEXT_SHORT_MAX, "%" PRIu64 " %s", whole, names[i]);
    return out;
}

enum { NEAREST_MAX = 64 };

static size_t least_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, replacements and swaps of neighbours; both at most NEAREST_MAX bytes. */
static size_t edits_between(struct view a, struct view b)
{
    size_t rows[3][NEAREST_MAX + 1];
    size_t *above2 = rows[0];
    size_t *above = rows[1];
    size_t *row = rows[2];

    for (size_t j = 0; j <= b.n; j++)
        above[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *spare = above2;

        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t cost = a.p[i - 1] == b.p[j - 1] ? 0 : 1;

            row[j] = least_of(least_of(above[j], row[j - 1]) + 1, above[j - 1] + cost);
            if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
                row[j] = least_of(row[j], above2[j - 2] + 1);
        }
        above2 = above;
        above = row;
        row = spare;
    }
    return above[b.n];
}

const char *text_nearest(struct view given, const char *const *words, size_t n)
{
    size_t limit = given.n / 3;
    const char *best = NULL;

    if (given.n == 0 || given.n > NEAREST_MAX)
        return NULL;
    limit = limit < 1 ? 1 : least_of(limit, 3);
    for (size_t i = 0; i < n; i++) {
        struct view word = view_of(words[i]);
        size_t edits;

        if (word.n > NEAREST_MAX)
            continue;
        edits = edits_between(given, word);
        if (edits > limit || (best && edits == limit))
            continue;
        best = words[i];
        limit = edits;
    }
    return best;
}

void text_list_release(text_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i]);
    vec_release(list);
}

void text_shell_word(struct str *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";

    if (word[0] != '\0' && word[strspn(word, plain)] == '\0') {
        str_put(out, word);
        return;
    }
    str_putc(out, '\'');
    for (; *word; word++) {
        if (*word == '\'')
            str_put(out, "'\\''");
        else
            str_putc(out, *word);
    }
    str_putc(out, '\'');
}

/* Valid UTF-8 that a terminal obeys or that reorders what a reader sees: C1 controls, line and
 * paragraph separators, directional overrides and isolates. */
static bool is_treacherous(const unsigned char *p, size_t len)
{
    if (len == 2)
        return p[0] == 0xc2 && p[1] < 0xa0;
    if (len != 3 || p[0] != 0xe2)
        return false;
    return (p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) ||
           (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
}

void text_escape(struct str *out, struct view bytes, size_t max_bytes)
{
    const unsigned char *p = (const unsigned char *)bytes.p;
    size_t n = least_of(bytes.n, max_bytes);
    size_t i = 0;

    while (i < n) {
        /* The whole text is looked at, so that the cut does not make a good character look bad. */
        size_t len = text_utf8_len(p + i, bytes.n - i);

        if (len > n - i)
            break;
        if (len == 1 ? p[i] >= 0x20 && p[i] != 0x7f : len > 1 && !is_treacherous(p + i, len)) {
            str_put_view(out, view_bytes(p + i, len));
            i += len;
            continue;
        }
        for (size_t end = i + (len ? len : 1); i < end; i++)
            str_printf(out, "\\x%02x", p[i]);
    }
}

size_t text_utf8_len(const unsigned char *p, size_t n)
{
    unsigned lowest =
        0x80; /* of the second byte: shuts out overlong forms, surrogates, over 10FFFF */
    unsigned highest = 0xbf;
    size_t len;

    if (n == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] == 0xe0)
        lowest = 0xa0;
    else if (p[0] == 0xed)
        highest = 0x9f;
    else if (p[0] == 0xf0)
        lowest = 0x90;
    else if (p[0] == 0xf4)
        highest = 0x8f;
    if (n < len || p[1] < lowest || p[1] > highest)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    }
    return len;
}
