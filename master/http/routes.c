#include "master/http/routes.h"

#include <string.h>

#include "master/http/api.h"
#include "master/http/guard.h"
#include "master/http/params.h"

static const struct route routes[] = {
    {"api/v1/status", "", api_status, NULL},
    {"api/v1/builders", "limit before", api_builders, NULL},
    {"api/v1/builders/*", "", api_builder, NULL},
    {"api/v1/builds", "limit before builder project branch state result set revision slave",
     api_builds, NULL},
    {"api/v1/builds/*", "", api_build, NULL},
    {"api/v1/builds/*/steps/*", "attempt", api_step, NULL},
    {"api/v1/builds/*/steps/*/log", "attempt stream offset length line lines tail follow download",
     api_log, NULL},
    {"api/v1/builds/*/points", "limit before attempt", api_points, NULL},
    {"api/v1/builds/*/cancel", "", NULL, api_cancel},
    {"api/v1/builds/*/rebuild", "", NULL, api_rebuild},
    {"api/v1/sets/*", "", api_set, NULL},
    {"api/v1/queue", "limit before pool", api_queue, NULL},
    {"api/v1/slaves", "limit before", api_slaves, NULL},
    {"api/v1/slaves/*", "", api_slave, NULL},
    {"api/v1/slaves/*/drain", "", NULL, api_drain},
    {"api/v1/slaves/*/resume", "", NULL, api_undrain},
    {"api/v1/pools", "limit before", api_pools, NULL},
    {"api/v1/pools/*/pause", "", NULL, api_pause},
    {"api/v1/pools/*/resume", "", NULL, api_unpause},
    {"api/v1/changes", "limit before project branch", api_changes, api_send_change},
    {"api/v1/events", "build branch builder", api_events, NULL},
    {"api/v1/force", "", NULL, api_force},
    {"api/v1/reload", "", NULL, api_reload},
    {"healthz", "", api_healthz, NULL},
};

/* First segments that are not the pages'. */
static const char *const reserved[] = {"api", "hooks", "badge", "metrics", "healthz"};

static bool matches(const char *pattern, const struct url *url, const char *wild[2])
{
    size_t n_wild = 0;

    for (size_t i = 0; i < url->n_segments; i++) {
        size_t n = strcspn(pattern, "/");
        bool last = pattern[n] == '\0';

        if (n == 1 && *pattern == '*')
            wild[n_wild++] = url->segments[i];
        else if (strlen(url->segments[i]) != n || memcmp(url->segments[i], pattern, n) != 0)
            return false;
        if (last)
            return i + 1 == url->n_segments;
        pattern += n + 1;
    }
    return false;
}

const struct route *route_find(const struct url *url, const char *wild[2])
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        wild[0] = wild[1] = NULL;
        if (matches(routes[i].pattern, url, wild))
            return &routes[i];
    }
    return NULL;
}

static void refuse_method(struct request *request, const char *allow)
{
    request_set_header(request, "Allow", allow);
    answer_error(request, 405, "method", "%.16s is not for this address: expected %s",
                 request_method(request), allow);
}

static void refuse_actor(struct request *request, enum guard_verdict verdict, const char *why)
{
    if (verdict == GUARD_TOKEN)
        request_set_header(request, "WWW-Authenticate", "Bearer");
    answer_error(request,
                 verdict == GUARD_TOKEN  ? 401
                 : verdict == GUARD_TYPE ? 415
                                         : 403,
                 verdict == GUARD_TYPE ? "type" : "auth", "%s", why);
}

static bool may_act(struct site *site, struct request *request)
{
    const struct config *config = site->mirror.config;
    const struct guard_request sent = {
        .host = request_header(request, "Host"),
        .origin = request_header(request, "Origin"),
        .fetch_site = request_header(request, "Sec-Fetch-Site"),
        .content_type = request_header(request, "Content-Type"),
        .authorization = request_header(request, "Authorization"),
        .body_bytes = request_body(request).n,
    };
    const struct guard_site here = {&config->tokens, config->url, site->loopback};
    const char *why = "";
    enum guard_verdict verdict = guard_judge(&sent, &here, &why);

    if (verdict != GUARD_PASS)
        refuse_actor(request, verdict, why);
    return verdict == GUARD_PASS;
}

static void run(struct site *site, struct call *call, const struct route *route)
{
    const char *method = request_method(call->request);
    bool get = strcmp(method, "GET") == 0;
    bool post = strcmp(method, "POST") == 0;
    struct err err = ERR_INIT;

    if ((get && route->get) || (post && route->post)) {
        if (params_check(&call->url, get ? route->params : "", &err))
            answer_err(call->request, &err);
        else if (get)
            route->get(site, call);
        else if (may_act(site, call->request))
            route->post(site, call);
        return;
    }
    refuse_method(call->request, route->get && route->post ? "GET, HEAD, POST"
                                 : route->get              ? "GET, HEAD"
                                                           : "POST");
}

static bool is_reserved(const struct url *url)
{
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (strcmp(url->segments[0], reserved[i]) == 0)
            return true;
    }
    return false;
}

static void dispatch(struct site *site, struct call *call)
{
    const struct route *route = route_find(&call->url, call->wild);

    if (site->stopping)
        answer_error(call->request, 503, "cancelled", "the master is stopping");
    else if (route)
        run(site, call, route);
    else if (is_reserved(&call->url))
        answer_error(call->request, 404, "notfound", "there is nothing at %.200s", call->url.path);
    else if (strcmp(request_method(call->request), "GET") != 0)
        refuse_method(call->request, "GET, HEAD");
    else
        pages_answer(site, call);
}

void routes_answer(struct site *site, struct request *request)
{
    struct call call = {.request = request};
    struct err err = ERR_INIT;

    if (url_parse(request_target(request), &call.url, &err))
        answer_error(request, err.code == ERR_LIMIT ? 414 : 400, err_code_name(err.code), "%s",
                     err.msg);
    else
        dispatch(site, &call);
    url_release(&call.url);
}
