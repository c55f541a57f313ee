/*
 * Any bytes as a request: the first line is its target, the lines up to an empty one are headers,
 * the rest is a body. All that judges them before a handler runs must neither crash nor hand on
 * what it promises to refuse.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "common/base/text.h"
#include "master/http/body.h"
#include "master/http/framing.h"
#include "master/http/guard.h"
#include "master/http/params.h"
#include "master/http/range.h"
#include "master/http/routes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct view cut_line(struct view *rest)
{
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    struct view line = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t used = end ? line.n + 1 : line.n;

    rest->p += used;
    rest->n -= used;
    return line;
}

/* Whatever was sent, it is the sender's fault. */
static void expect_fine_or_refused(enum err_code rc)
{
    assert(rc == ERR_OK || rc == ERR_CONFIG || rc == ERR_LIMIT);
}

static void check_text(const char *text)
{
    for (const char *p = text; *p; p++)
        assert((unsigned char)*p >= ' ' && *p != 0x7f);
}

static void try_target(struct view target)
{
    struct url url = {.path = NULL};
    const char *wild[2];
    enum build_state state;
    enum build_result result;
    uint64_t number = 0;
    unsigned limit = PARAMS_LIMIT;
    bool flag;

    if (url_parse(target, &url, NULL))
        return;
    for (size_t i = 0; i < url.n_segments; i++)
        check_text(url.segments[i]);
    for (size_t i = 0; i < url.n_params; i++) {
        check_text(url.params[i].name);
        check_text(url.params[i].value);
        expect_fine_or_refused(params_u64(&url, url.params[i].name, 1, 1000, &number, NULL));
        expect_fine_or_refused(params_bool(&url, url.params[i].name, &flag, NULL));
        assert(number <= 1000);
    }
    if (route_find(&url, wild)) {
        (void)params_id(wild[0] ? wild[0] : "");
        (void)params_id(wild[1] ? wild[1] : "");
    }
    if (params_limit(&url, &limit, NULL) == ERR_OK)
        assert(limit >= 1 && limit <= PARAMS_LIMIT_MAX);
    expect_fine_or_refused(params_state(&url, &state, NULL));
    expect_fine_or_refused(params_result(&url, &result, NULL));
    expect_fine_or_refused(params_check(&url, "limit before", NULL));
    url_release(&url);
}

static void try_header(const char *value)
{
    static char token[] = "the-only-token-there-is";
    static char *list[] = {token};
    const text_list tokens = {list, 1, 1};
    const struct guard_site site = {&tokens, "https://ci.example.org/", true};
    const struct guard_request request = {.host = value,
                                          .origin = value,
                                          .fetch_site = value,
                                          .content_type = value,
                                          .authorization = value,
                                          .body_bytes = 1};
    uint64_t first = 0, n = 0;

    if (range_parse(value, 1000, &first, &n) == RANGE_PART)
        assert(n > 0 && first < 1000 && n <= 1000 - first);
    (void)range_accepts_gzip(value);
    assert(guard_judge(&request, &site, NULL) != GUARD_PASS);
}

static void try_headers(struct view *rest)
{
    struct framing framing = FRAMING_INIT;
    struct view line;

    while ((line = cut_line(rest)).n > 0) {
        char *text = view_dup(line);
        char *colon = strchr(text, ':');

        if (colon)
            *colon = '\0';
        framing_add(&framing, text, colon ? colon + 1 : "");
        try_header(colon ? colon + 1 : text);
        free(text);
    }
    if (!framing_fault(&framing, true)) {
        assert(framing.hosts == 1 && framing.lengths <= 1);
        assert(!framing.lengths || !framing.codings);
    }
}

static void try_body(struct view body)
{
    struct command *command = command_new(COMMAND_FORCE);

    if (body_force(body, command, NULL) == ERR_OK)
        assert(command->name && *command->name);
    command_free(command);
    command = command_new(COMMAND_CHANGE);
    if (body_change(body, command, NULL) == ERR_OK)
        assert(command->change_asked.project && command->change_asked.revision);
    command_free(command);
    command = command_new(COMMAND_CANCEL);
    expect_fine_or_refused(body_reason(body, command, NULL));
    expect_fine_or_refused(body_none(body, NULL));
    command_free(command);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view rest = view_bytes(data, size);

    try_target(cut_line(&rest));
    try_headers(&rest);
    try_body(rest);
    return 0;
}
