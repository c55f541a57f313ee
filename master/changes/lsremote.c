#include "master/changes/lsremote.h"

#include <string.h>

static bool is_revision(struct view text)
{
    if (text.n != 40 && text.n != 64)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (!strchr("0123456789abcdef", text.p[i]) || text.p[i] == '\0')
            return false;
    }
    return true;
}

bool lsremote_next(struct view *text, struct view *revision, struct view *branch)
{
    static const char prefix[] = "refs/heads/";
    const size_t prefix_n = sizeof prefix - 1;

    while (text->n > 0) {
        const char *end = memchr(text->p, '\n', text->n);
        struct view line = {text->p, end ? (size_t)(end - text->p) : text->n};
        size_t taken = end ? line.n + 1 : line.n;
        const char *tab = memchr(line.p, '\t', line.n);
        struct view ref;

        text->p += taken;
        text->n -= taken;
        if (!tab)
            continue;
        *revision = (struct view){line.p, (size_t)(tab - line.p)};
        ref = (struct view){tab + 1, line.n - revision->n - 1};
        if (!is_revision(*revision) || !view_starts(ref, prefix) || ref.n == prefix_n)
            continue;
        *branch = (struct view){ref.p + prefix_n, ref.n - prefix_n};
        return true;
    }
    return false;
}
