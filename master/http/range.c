#include "master/http/range.h"

#include <string.h>
#include <strings.h>

#include "common/base/text.h"

/* The number in text[0..n), or false. */
static bool number(const char *text, size_t n, uint64_t *out)
{
    return n > 0 && text_u64(view_bytes(text, n), 0, UINT64_MAX, out, NULL) == ERR_OK;
}

enum range_kind range_parse(const char *header, uint64_t size, uint64_t *first, uint64_t *n)
{
    const char *from, *dash;
    uint64_t a, b;

    if (!header || strncasecmp(header, "bytes=", 6) != 0)
        return RANGE_NONE;
    from = header + 6;
    from += strspn(from, " \t");
    dash = strchr(from, '-');
    if (!dash || strchr(from, ','))
        return RANGE_NONE;
    if (dash == from) {
        if (!number(dash + 1, strlen(dash + 1), &b))
            return RANGE_NONE;
        if (b == 0 || size == 0)
            return RANGE_OUTSIDE;
        *n = b < size ? b : size;
        *first = size - *n;
        return RANGE_PART;
    }
    if (!number(from, (size_t)(dash - from), &a))
        return RANGE_NONE;
    b = size ? size - 1 : 0;
    if (dash[1] && (!number(dash + 1, strlen(dash + 1), &b) || b < a))
        return RANGE_NONE;
    if (a >= size)
        return RANGE_OUTSIDE;
    *first = a;
    *n = (b < size ? b : size - 1) - a + 1;
    return RANGE_PART;
}

/* Whether the parameters of one coding, from its first ';', forbid it: "q=0", "q=0.0"... */
static bool is_refused(const char *params, size_t n)
{
    for (size_t i = 0; i + 2 < n; i++) {
        size_t at = i + 2;

        if ((params[i] != 'q' && params[i] != 'Q') || params[i + 1] != '=')
            continue;
        while (at < n && (params[at] == '0' || params[at] == '.'))
            at++;
        return params[i + 2] == '0' && (at == n || params[at] < '1' || params[at] > '9');
    }
    return false;
}

bool range_accepts_gzip(const char *header)
{
    bool any = false;

    while (header && *header) {
        size_t n = strcspn(header, ",");
        size_t skip = strspn(header, " \t");
        size_t word = strcspn(header + skip, " \t;,");
        const char *name = header + skip;
        bool taken = skip + word > n || !is_refused(name + word, n - skip - word);

        if (word == 4 && strncasecmp(name, "gzip", 4) == 0)
            return taken;
        if (word == 6 && strncasecmp(name, "x-gzip", 6) == 0)
            return taken;
        if (word == 1 && *name == '*')
            any = taken;
        header += n;
        header += *header == ',';
    }
    return any;
}
