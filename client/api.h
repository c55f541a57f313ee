/*
 * api: the master's REST API as the command line uses it. One struct api is the master's address
 * and the user's token; calls are blocking.
 */
#ifndef TAILRACE_CLIENT_API_H
#define TAILRACE_CLIENT_API_H

#include <stdbool.h>

#include "common/base/err.h"
#include "common/base/json_in.h"
#include "common/base/str.h"
#include "common/io/httpc.h"

enum { API_BODY_MAX = 256 * 1024 * 1024 };

struct api {
    char *master; /* "http://host:port", without a slash at the end */
    char *token;  /* or NULL */
    struct httpc *http;
};

/* An answer. The body is kept as it came; doc is what it says. */
struct api_reply {
    int status;
    struct str body;
    struct json *doc;
};

#define API_REPLY_INIT                                                                             \
    {                                                                                              \
        0, STR_INIT(API_BODY_MAX), NULL                                                            \
    }

void api_reply_release(struct api_reply *reply);

/*
 * Address and token as the user gave them: master_arg, else TAILRACE_MASTER, else
 * http://127.0.0.1:8010; token_file_arg, else TAILRACE_TOKEN, else tailrace/token in the user's
 * configuration folder, which need not exist. The caller releases *api (api_release). ERR_CONFIG or
 * ERR_IO.
 */
enum err_code api_init(struct api *api, const char *master_arg, const char *token_file_arg,
                       struct err *err) TAILRACE_MUST_CHECK;
void api_release(struct api *api);

/*
 * One call; path begins behind /api/v1 ("/builds/12"). body is JSON or empty. With key (for POST;
 * NULL allowed) the master sees a repeated call as the same one, so a call that broke is repeated,
 * as a GET is. *reply is set for any status that the master answered, and then an error is:
 * ERR_NOTFOUND 404, ERR_AUTH 401 and 403, ERR_AGAIN 502, 503 and 504, ERR_CONFIG the others.
 * ERR_IO, ERR_AGAIN and ERR_TIMEOUT (reply->status is 0) when no whole answer came;
 * ERR_PROTO: there is no HTTP server. The sentences are fit for the user.
 */
enum err_code api_call(struct api *api, const char *method, const char *path, struct view body,
                       const char *key, struct api_reply *reply,
                       struct err *err) TAILRACE_MUST_CHECK;

/* api_call with GET. */
enum err_code api_get(struct api *api, const char *path, struct api_reply *reply,
                      struct err *err) TAILRACE_MUST_CHECK;

/* Whether the call may work later: no connection, a broken one, or a master that is starting. */
bool api_worth_retrying(enum err_code rc);

/* The whole address of a path behind /api/v1; the caller frees. */
char *api_url(const struct api *api, const char *path);

/* What an error answer says, and the code for its status as in api_call. Returns the code. */
enum err_code api_refusal(int status, struct view body, struct err *err);

#endif
