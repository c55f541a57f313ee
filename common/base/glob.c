#include "common/base/glob.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "common/base/mem.h"
#include "common/base/text.h"

enum {
    PATTERN_MAX = 4096,
    SHOWN_MAX = 100,
    MATCH_LIMIT = 100000, /* PCRE2's own is 10,000,000: seconds */
    DEPTH_LIMIT = 10000,
};

struct glob {
    char *text;
    size_t n;
    bool literal;
    pcre2_code *utf8;  /* '?' is a character; for texts that are UTF-8 */
    pcre2_code *bytes; /* '?' is a byte; for the other texts */
    pcre2_match_context *limits;
};

static enum err_code refuse(struct view pattern, const char *why, struct err *err)
{
    struct str shown = STR_INIT(4 * SHOWN_MAX);

    text_escape(&shown, pattern, SHOWN_MAX);
    (void)err_set(err, ERR_CONFIG, "pattern '%s': %s", str_cstr(&shown), why);
    str_release(&shown);
    return ERR_CONFIG;
}

static enum err_code refuse_pcre(struct view pattern, int problem, struct err *err)
{
    PCRE2_UCHAR why[128] = "";

    (void)pcre2_get_error_message(problem, why, sizeof why);
    return refuse(pattern, (const char *)why, err);
}

static bool is_utf8(struct view text)
{
    const unsigned char *p = (const unsigned char *)text.p;
    size_t i = 0;

    while (i < text.n) {
        size_t len = text_utf8_len(p + i, text.n - i);

        if (len == 0)
            return false;
        i += len;
    }
    return true;
}

static bool has_wildcard(struct view pattern)
{
    for (size_t i = 0; i < pattern.n; i++) {
        if (strchr("*?[\\", pattern.p[i]))
            return true;
    }
    return false;
}

/* Sets *out, or leaves it when that fails. */
static enum err_code compile(struct view pattern, bool utf8, pcre2_code **out, struct err *err)
{
    uint32_t convert = PCRE2_CONVERT_GLOB | (utf8 ? PCRE2_CONVERT_UTF : 0);
    PCRE2_UCHAR *regex = NULL;
    PCRE2_SIZE regex_n = 0;
    PCRE2_SIZE where;
    pcre2_code *code;
    int problem;

    problem =
        pcre2_pattern_convert((PCRE2_SPTR)pattern.p, pattern.n, convert, &regex, &regex_n, NULL);
    if (problem != 0)
        return refuse_pcre(pattern, problem, err);
    code = pcre2_compile(regex, regex_n, utf8 ? PCRE2_UTF : 0, &problem, &where, NULL);
    pcre2_converted_pattern_free(regex);
    if (!code)
        return refuse_pcre(pattern, problem, err);
    *out = code;
    return ERR_OK;
}

enum err_code glob_new(struct view pattern, struct glob **out, struct err *err)
{
    struct glob *glob;
    enum err_code rc;

    if (pattern.n == 0 || pattern.n > PATTERN_MAX || memchr(pattern.p, '\0', pattern.n))
        return refuse(pattern, "expected 1 to 4096 characters, no NUL", err);
    if (!is_utf8(pattern))
        return refuse(pattern, "expected UTF-8", err);
    glob = xcalloc(1, sizeof *glob);
    glob->text = view_dup(pattern);
    glob->n = pattern.n;
    glob->literal = !has_wildcard(pattern);
    glob->limits = pcre2_match_context_create(NULL);
    if (glob->limits) {
        (void)pcre2_set_match_limit(glob->limits, MATCH_LIMIT);
        (void)pcre2_set_depth_limit(glob->limits, DEPTH_LIMIT);
    }
    rc = glob->limits ? ERR_OK : err_set(err, ERR_IO, "no memory for a pattern");
    if (!rc && !glob->literal)
        rc = compile(pattern, true, &glob->utf8, err);
    if (!rc && !glob->literal)
        rc = compile(pattern, false, &glob->bytes, err);
    if (rc)
        glob_free(glob);
    else
        *out = glob;
    return rc;
}

void glob_free(struct glob *glob)
{
    if (!glob)
        return;
    pcre2_code_free(glob->utf8);
    pcre2_code_free(glob->bytes);
    pcre2_match_context_free(glob->limits);
    free(glob->text);
    free(glob);
}

bool glob_match(const struct glob *glob, struct view text)
{
    const pcre2_code *code = is_utf8(text) ? glob->utf8 : glob->bytes;
    pcre2_match_data *data;
    int found;

    if (glob->literal)
        return view_equal(view_bytes(glob->text, glob->n), text);
    data = pcre2_match_data_create(1, NULL);
    if (!data)
        return false;
    found = pcre2_match(code, (PCRE2_SPTR)(text.n ? text.p : ""), text.n, 0,
                        code == glob->utf8 ? PCRE2_NO_UTF_CHECK : 0, data, glob->limits);
    pcre2_match_data_free(data);
    return found >= 0;
}

const char *glob_text(const struct glob *glob)
{
    return glob->text;
}

bool glob_is_literal(const struct glob *glob)
{
    return glob->literal;
}
