/* Host patterns: "linux-[01-03].[a,b]". Each bracket multiplies the names made so far. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"

enum { DIGITS_MAX = 18, PATTERN_MAX = 1024 };

static enum err_code bad(struct view pattern, const char *why, struct err *err)
{
    struct str shown = STR_INIT((size_t)4 * PATTERN_MAX);

    text_escape(&shown, pattern, 100);
    (void)err_set(err, ERR_CONFIG, "host pattern '%s': %s", str_cstr(&shown), why);
    str_release(&shown);
    return ERR_CONFIG;
}

static enum err_code too_many(size_t most, struct err *err)
{
    return err_set(err, ERR_LIMIT, "a host pattern gives more than %zu names", most);
}

/* How many digits stand at the front of text. */
static size_t digits_in(struct view text)
{
    size_t n = 0;

    while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
        n++;
    return n;
}

static uint64_t number_of(const char *digits, size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum = sum * 10 + (uint64_t)(digits[i] - '0');
    return sum;
}

/* "07-09": appends the numbers as text. */
static enum err_code add_range(struct view pattern, struct view item, size_t most, text_list *items,
                               struct err *err)
{
    size_t first_n = digits_in(item);
    struct view rest = view_bytes(item.p + first_n + 1, item.n - first_n - 1);
    size_t last_n = digits_in(rest);
    int width = item.p[0] == '0' ? (int)first_n : 1;
    uint64_t first;
    uint64_t last;

    if (last_n == 0 || last_n != rest.n || first_n > DIGITS_MAX || last_n > DIGITS_MAX)
        return bad(pattern, "a range is two numbers, such as 01-12", err);
    first = number_of(item.p, first_n);
    last = number_of(rest.p, last_n);
    if (last < first)
        return bad(pattern, "a range goes from the lower to the higher number", err);
    if (last - first >= most)
        return too_many(most, err);
    for (uint64_t i = first; i <= last; i++)
        vec_push(items, xasprintf("%0*" PRIu64, width, i));
    return ERR_OK;
}

static enum err_code add_item(struct view pattern, struct view item, size_t most, text_list *items,
                              struct err *err)
{
    size_t digits = digits_in(item);

    if (item.n == 0)
        return bad(pattern, "nothing between two commas or brackets", err);
    if (digits > 0 && digits < item.n && item.p[digits] == '-')
        return add_range(pattern, item, most, items, err);
    if (memchr(item.p, '-', item.n))
        return bad(pattern, "a range is two numbers, such as 01-12", err);
    if (items->n >= most)
        return too_many(most, err);
    vec_push(items, view_dup(item));
    return ERR_OK;
}

/* What stands between two brackets, as the list of texts that it means. */
static enum err_code read_bracket(struct view pattern, struct view inside, size_t most,
                                  text_list *items, struct err *err)
{
    size_t begin = 0;
    enum err_code rc = ERR_OK;

    for (size_t i = 0; i <= inside.n && !rc; i++) {
        if (i < inside.n && inside.p[i] != ',')
            continue;
        rc = add_item(pattern, view_bytes(inside.p + begin, i - begin), most, items, err);
        begin = i + 1;
    }
    return rc;
}

/* names becomes every name followed by every item. */
static enum err_code multiply(text_list *names, const text_list *items, size_t most,
                              struct err *err)
{
    text_list product = {NULL, 0, 0};

    if (items->n > most / names->n)
        return too_many(most, err);
    for (size_t i = 0; i < names->n; i++) {
        for (size_t k = 0; k < items->n; k++)
            vec_push(&product, xasprintf("%s%s", names->v[i], items->v[k]));
    }
    text_list_release(names);
    *names = product;
    return ERR_OK;
}

/* Multiplies names by the part of pattern at *at: a bracket, or the text up to the next one. */
static enum err_code take_part(struct view pattern, size_t *at, size_t most, text_list *names,
                               struct err *err)
{
    struct view rest = view_bytes(pattern.p + *at, pattern.n - *at);
    bool bracket = rest.p[0] == '[';
    text_list items = {NULL, 0, 0};
    size_t end = bracket ? 1 : 0;
    enum err_code rc = ERR_OK;

    while (end < rest.n && rest.p[end] != '[' && rest.p[end] != ']')
        end++;
    if (bracket ? end == rest.n || rest.p[end] != ']' : end < rest.n && rest.p[end] == ']')
        return bad(pattern, "the brackets do not pair up", err);
    if (bracket)
        rc = read_bracket(pattern, view_bytes(rest.p + 1, end - 1), most, &items, err);
    else
        vec_push(&items, view_dup(view_bytes(rest.p, end)));
    if (!rc)
        rc = multiply(names, &items, most, err);
    text_list_release(&items);
    *at += end + (bracket ? 1 : 0);
    return rc;
}

enum err_code text_expand_hosts(struct view pattern, size_t most, text_list *out, struct err *err)
{
    text_list names = {NULL, 0, 0};
    enum err_code rc = ERR_OK;
    size_t at = 0;

    if (pattern.n == 0 || pattern.n > PATTERN_MAX || memchr(pattern.p, '\0', pattern.n))
        return bad(pattern, "expected 1 to 1024 characters, no NUL", err);
    if (most == 0)
        return too_many(most, err);
    vec_push(&names, xstrdup(""));
    while (at < pattern.n && !rc)
        rc = take_part(pattern, &at, most, &names, err);
    for (size_t i = 0; i < names.n && !rc; i++) {
        vec_push(out, names.v[i]);
        names.v[i] = NULL;
    }
    text_list_release(&names);
    return rc;
}
