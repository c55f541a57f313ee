#include "master/http/url.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/text.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static enum err_code refuse(const char *what, struct view piece, struct err *err)
{
    struct str shown = STR_INIT(512);

    text_escape(&shown, piece, 80);
    (void)err_set(err, ERR_CONFIG, "%s in \"%s\"", what, str_cstr(&shown));
    str_release(&shown);
    return ERR_CONFIG;
}

static bool is_text(const char *p, size_t n)
{
    size_t i = 0;

    while (i < n) {
        size_t length = text_utf8_len((const unsigned char *)p + i, n - i);

        if (length == 0 || (unsigned char)p[i] < ' ' || p[i] == 0x7f)
            return false;
        i += length;
    }
    return true;
}

/* Writes the decoded piece with a NUL to *at and moves *at behind it. */
static enum err_code decode(struct view piece, bool plus_is_space, char **at, struct err *err)
{
    char *begin = *at;
    char *out = begin;

    for (size_t i = 0; i < piece.n; i++) {
        char c = piece.p[i];

        if (c == '%') {
            int high = i + 2 < piece.n ? hex_digit(piece.p[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(piece.p[i + 2]) : -1;

            if (low < 0)
                return refuse("a % without two hexadecimal digits", piece, err);
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        *out++ = c;
    }
    *out = '\0';
    if (!is_text(begin, (size_t)(out - begin)))
        return refuse("bytes that are not text", piece, err);
    *at = out + 1;
    return ERR_OK;
}

/* Cuts the part before the separator off *rest, or all of it. */
static struct view cut(struct view *rest, char separator)
{
    const char *end = rest->n ? memchr(rest->p, separator, rest->n) : NULL;
    struct view part = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t used = end ? part.n + 1 : part.n;

    rest->p += used;
    rest->n -= used;
    return part;
}

static enum err_code parse_path(struct view path, struct url *url, char **at, struct err *err)
{
    struct view rest = {path.p + 1, path.n - 1};
    bool more = true;

    while (more) {
        struct view piece = cut(&rest, '/');
        char *segment = *at;
        enum err_code rc;

        more = piece.p + piece.n < path.p + path.n;
        if (url->n_segments == URL_MAX_SEGMENTS)
            return err_set(err, ERR_LIMIT, "a path of more than %d parts", URL_MAX_SEGMENTS);
        rc = decode(piece, false, at, err);
        if (rc)
            return rc;
        url->segments[url->n_segments++] = segment;
    }
    return ERR_OK;
}

static enum err_code parse_param(struct view pair, struct url *url, char **at, struct err *err)
{
    struct view value = pair;
    struct view name = cut(&value, '=');
    struct url_param param = {.name = *at};
    enum err_code rc = decode(name, true, at, err);

    if (rc)
        return rc;
    param.value = *at;
    rc = decode(value, true, at, err);
    if (rc)
        return rc;
    if (url_param(url, param.name))
        return refuse("a parameter given twice", pair, err);
    if (url->n_params == URL_MAX_PARAMS)
        return err_set(err, ERR_LIMIT, "more than %d parameters", URL_MAX_PARAMS);
    url->params[url->n_params++] = param;
    return ERR_OK;
}

/* "http://host/path" is the same as "/path". */
static struct view without_authority(struct view target)
{
    size_t skip = view_starts(target, "http://") ? 7 : view_starts(target, "https://") ? 8 : 0;

    while (skip > 0 && skip < target.n && target.p[skip] != '/')
        skip++;
    return (struct view){target.p + skip, target.n - skip};
}

static enum err_code parse(struct view target, struct url *url, struct err *err)
{
    struct view query = without_authority(target);
    struct view path = cut(&query, '?');
    enum err_code rc;
    char *at;

    if (path.n == 0 || path.p[0] != '/')
        return refuse("no path", target, err);
    url->path = view_dup(path);
    /* Decoding never lengthens; each piece has a NUL in the place of its separator, a parameter
     * without '=' one more. */
    url->text = xmalloc(2 * target.n + 4);
    at = url->text;
    rc = parse_path(path, url, &at, err);
    while (rc == ERR_OK && query.n > 0) {
        struct view pair = cut(&query, '&');

        if (pair.n > 0)
            rc = parse_param(pair, url, &at, err);
    }
    return rc;
}

enum err_code url_parse(struct view target, struct url *out, struct err *err)
{
    struct url url = {.path = NULL};
    enum err_code rc;

    if (target.n > URL_MAX_BYTES)
        return err_set(err, ERR_LIMIT, "an address of more than %d bytes", URL_MAX_BYTES);
    rc = parse(target, &url, err);
    if (rc) {
        url_release(&url);
        return rc;
    }
    *out = url;
    return ERR_OK;
}

void url_release(struct url *url)
{
    free(url->path);
    free(url->text);
    *url = (struct url){.path = NULL};
}

const char *url_param(const struct url *url, const char *name)
{
    for (size_t i = 0; i < url->n_params; i++) {
        if (strcmp(url->params[i].name, name) == 0)
            return url->params[i].value;
    }
    return NULL;
}
