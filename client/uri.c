#include "client/uri.h"

#include <string.h>

#include "common/base/mem.h"
#include "common/base/text.h"

static void escape(struct str *path, const char *text)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

    for (; *text; text++) {
        if (strchr(plain, *text))
            str_putc(path, *text);
        else
            str_printf(path, "%%%02X", (unsigned char)*text);
    }
}

void uri_segment(struct str *path, const char *segment)
{
    str_putc(path, '/');
    escape(path, segment);
}

void uri_query(struct str *path, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    str_putc(path, strchr(str_cstr(path), '?') ? '&' : '?');
    str_printf(path, "%s=", name);
    escape(path, value);
}

void uri_query_u64(struct str *path, const char *name, uint64_t value)
{
    str_putc(path, strchr(str_cstr(path), '?') ? '&' : '?');
    str_printf(path, "%s=%llu", name, (unsigned long long)value);
}

enum err_code uri_master(const char *text, char **out, struct err *err)
{
    struct view url = view_of(text);
    const char *scheme = "";
    const char *host;

    if (!strstr(text, "://"))
        scheme = "http://";
    else if (!view_starts(url, "http://") && !view_starts(url, "https://"))
        return err_set(err, ERR_CONFIG, "'%.200s' is not an http or https address", text);
    while (url.n && url.p[url.n - 1] == '/')
        url.n--;
    host = *scheme ? text : strstr(text, "://") + 3;
    if (url.n == 0 || host >= url.p + url.n || strpbrk(text, " \t\r\n"))
        return err_set(err, ERR_CONFIG, "'%.200s' is not an address of a master", text);
    *out = xasprintf("%s%.*s", scheme, VIEW_ARG(url));
    return ERR_OK;
}

enum err_code uri_build_id(const char *text, uint64_t *id, struct err *err)
{
    static const char mark[] = "/builds/";
    const char *digits = text;
    const char *at = strstr(text, mark);
    size_t n;

    if (at)
        digits = at + strlen(mark);
    else if (*digits == '#')
        digits++;
    n = strspn(digits, "0123456789");
    if ((digits[n] != '\0' && !at) || (at && !strchr("/#?", digits[n])) ||
        text_u64(view_bytes(digits, n), 1, INT64_MAX, id, NULL) != ERR_OK)
        return err_set(err, ERR_CONFIG, "'%.200s' is not a build: expected its number or its page",
                       text);
    return ERR_OK;
}
