/* Changes, the newest first. */
#include "master/http/api.h"
#include "master/http/params.h"

/* A change may list thousands of files: a page ends early rather than growing for ever. */
enum { PAGE_BYTES = 8 << 20 };

struct putting {
    struct answer *answer;
    uint64_t last;
    bool full;
};

static void put_change(void *arg, const struct change_info *change)
{
    struct putting *putting = arg;

    if (putting->answer->body.n > PAGE_BYTES)
        putting->full = true;
    if (putting->full)
        return;
    show_change(&putting->answer->json, change);
    putting->last = change->id;
}

void api_changes(struct site *site, struct call *call)
{
    struct answer answer;
    struct putting putting = {.answer = &answer};
    unsigned limit = PARAMS_LIMIT;
    uint64_t before = 0, next = 0;
    struct err err = ERR_INIT;

    answer_begin(&answer);
    json_object(&answer.json);
    json_key(&answer.json, "changes");
    json_array(&answer.json);
    if (params_limit(&call->url, &limit, &err) ||
        params_u64(&call->url, "before", 1, INT64_MAX, &before, &err) ||
        reader_changes(site->reader, url_param(&call->url, "project"),
                       url_param(&call->url, "branch"), before, limit, put_change, &putting, &next,
                       &err)) {
        answer_drop(&answer);
        answer_err(call->request, &err);
        return;
    }
    json_end(&answer.json);
    show_key_id(&answer.json, "next", putting.full ? putting.last : next);
    json_end(&answer.json);
    answer_send(&answer, call->request, 200);
}
