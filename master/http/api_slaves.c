/* Slaves and pools, in the order of their names; the cursor is a name. */
#include <stdbool.h>
#include <string.h>

#include "master/http/api.h"
#include "master/http/params.h"

/* One page of a table in the order of its names. */
struct page {
    struct answer answer;
    const char *before, *last;
    unsigned left;
    bool more;
};

/* false: the request was answered with what is wrong with it. */
static bool page_begin(struct page *page, struct call *call, const char *key)
{
    struct err err = ERR_INIT;

    *page = (struct page){.before = url_param(&call->url, "before"), .left = PARAMS_LIMIT_MAX};
    if (params_limit(&call->url, &page->left, &err)) {
        answer_err(call->request, &err);
        return false;
    }
    answer_begin(&page->answer);
    json_object(&page->answer.json);
    json_key(&page->answer.json, key);
    json_array(&page->answer.json);
    return true;
}

/* Whether the page has the thing of that name on it. */
static bool page_takes(struct page *page, const char *name)
{
    if (page->before && strcmp(name, page->before) <= 0)
        return false;
    page->more = page->left == 0;
    if (page->more)
        return false;
    page->last = name;
    page->left--;
    return true;
}

static void page_end(struct page *page, struct call *call)
{
    json_end(&page->answer.json);
    json_kv_str(&page->answer.json, "next", page->more ? page->last : NULL);
    json_end(&page->answer.json);
    answer_send(&page->answer, call->request, 200);
}

void api_slaves(struct site *site, struct call *call)
{
    const struct mirror_slave *slave;
    struct page page;

    if (!page_begin(&page, call, "slaves"))
        return;
    for (slave = mirror_slaves(&site->mirror); slave && !page.more; slave = slave->hh.next) {
        if (page_takes(&page, slave->info.name))
            show_slave(&page.answer.json, &slave->info);
    }
    page_end(&page, call);
}

void api_slave(struct site *site, struct call *call)
{
    const struct slave_info *slave = mirror_find_slave(&site->mirror, call->wild[0]);
    struct answer answer;

    if (!slave) {
        answer_error(call->request, 404, "notfound", "there is no slave %.80s", call->wild[0]);
        return;
    }
    answer_begin(&answer);
    show_slave(&answer.json, slave);
    answer_send(&answer, call->request, 200);
}

void api_pools(struct site *site, struct call *call)
{
    const struct mirror_pool *pool;
    struct page page;

    if (!page_begin(&page, call, "pools"))
        return;
    for (pool = mirror_pools(&site->mirror); pool && !page.more; pool = pool->hh.next) {
        if (page_takes(&page, pool->info.name))
            show_pool(&page.answer.json, &pool->info);
    }
    page_end(&page, call);
}
