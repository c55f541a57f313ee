#include "slave/scm.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/base/text.h"
#include "common/io/fsx.h"
#include "slave/gitfiles.h"
#include "slave/scm_private.h"

enum { SHOW_MAX = 64 * 1024, OUTPUT_LINE_MAX = 200 };

static const struct scm_stage_ops *const stages[] = {
    [SCM_PREPARE] = &scm_prepare,
    [SCM_LOCK] = &scm_lock,
    [SCM_MIRROR] = &scm_mirror,
    [SCM_LOOK_UP] = &scm_look_up,
    [SCM_FETCH] = &scm_fetch,
    [SCM_PROBE] = &scm_probe,
    [SCM_FETCH_EXACT] = &scm_fetch_exact,
    [SCM_VERIFY] = &scm_verify,
    [SCM_DROP_MIRROR] = &scm_drop_mirror,
    [SCM_TREE] = &scm_tree,
    [SCM_TREE_INIT] = &scm_tree_init,
    [SCM_TREE_REMOTE] = &scm_tree_remote,
    [SCM_CHECKOUT] = &scm_checkout,
    [SCM_CLEAN] = &scm_clean,
    [SCM_REFS] = &scm_refs,
    [SCM_SUBMODULE_URLS] = &scm_submodule_urls,
    [SCM_SUBMODULES] = &scm_submodules,
    [SCM_SUBMODULE_CLEAN] = &scm_submodule_clean,
    [SCM_DROP_TREE] = &scm_drop_tree,
};

void scm_act(struct scm *scm, enum scm_what what)
{
    scm->action = (struct scm_action){.what = what};
    scm->acted = true;
}

void scm_fail(struct scm *scm, bool exception, const char *fmt, ...)
{
    va_list args;

    scm_act(scm, SCM_FAILED);
    scm->action.exception = exception;
    va_start(args, fmt);
    (void)vsnprintf(scm->action.reason, sizeof scm->action.reason, fmt, args);
    va_end(args);
    scm->stage = SCM_END;
}

void scm_note(struct scm *scm, const char *text)
{
    free(scm->note);
    scm->note = xstrdup(text);
}

static void argv_clear(struct scm *scm)
{
    while (scm->argc > 0)
        free(scm->argv[--scm->argc]);
}

/* The words up to NULL become an SCM_RUN. */
void scm_run(struct scm *scm, const char *const *words)
{
    argv_clear(scm);
    while (*words) {
        assert(scm->argc < SCM_ARGV_MAX);
        scm->argv[scm->argc++] = xstrdup(*words++);
    }
    scm->argv[scm->argc] = NULL;
    scm_act(scm, SCM_RUN);
    scm->action.argv = scm->argv;
}

void scm_remove(struct scm *scm, const char *path)
{
    scm_act(scm, SCM_REMOVE);
    scm->action.path = path;
}

void scm_unlock(struct scm *scm)
{
    if (scm->lock >= 0)
        (void)close(scm->lock);
    scm->lock = -1;
}

bool scm_is_hex(const char *text)
{
    size_t n = strspn(text, "0123456789abcdefABCDEF");

    return n >= 4 && text[n] == '\0';
}

bool scm_is_hash(const char *text)
{
    return scm_is_hex(text) && (strlen(text) == 40 || strlen(text) == 64);
}

char *scm_last_line(struct view output)
{
    struct str line = STR_INIT(SHOW_MAX);
    size_t end = output.n;
    size_t begin;

    while (end > 0 && isspace((unsigned char)output.p[end - 1]))
        end--;
    begin = end;
    while (begin > 0 && output.p[begin - 1] != '\n' && output.p[begin - 1] != '\r')
        begin--;
    text_escape(&line, view_bytes(output.p + begin, end - begin), OUTPUT_LINE_MAX);
    return str_detach(&line);
}

/* Why a git gave up, owned: its first "fatal: ", what it says behind that is advice. Else the last
 * line. */
static char *reason_of(struct view output)
{
    static const char fatal[] = "fatal: ";
    const char *at = output.n ? memmem(output.p, output.n, fatal, strlen(fatal)) : NULL;
    struct view line;

    if (!at)
        return scm_last_line(output);
    at += strlen(fatal);
    line = view_bytes(at, (size_t)(output.p + output.n - at));
    if (memchr(line.p, '\n', line.n))
        line.n = (size_t)((const char *)memchr(line.p, '\n', line.n) - line.p);
    return scm_last_line(line);
}

void scm_fail_with(struct scm *scm, const char *what, struct view output)
{
    char *line = reason_of(output);

    scm_fail(scm, false, "%s: %s", what, line && line[0] ? line : "git did not say why");
    free(line);
}

static char *copy_text(const char *text)
{
    return xstrdup(text ? text : "");
}

struct scm *scm_new(const struct scm_request *request)
{
    struct scm *scm = xcalloc(1, sizeof *scm);

    scm->request = (struct scm_request){
        .mirrors = copy_text(request->mirrors),
        .tree = copy_text(request->tree),
        .url = copy_text(request->url),
        .branch = copy_text(request->branch),
        .revision = copy_text(request->revision),
        .submodules = request->submodules,
        .keep_tree = request->keep_tree,
    };
    scm->mirror = gitfiles_mirror(request->mirrors, request->url);
    scm->git_dir = fs_join(request->tree, ".git");
    scm->shown_url = gitfiles_show_url(request->url);
    scm->lock = -1;
    return scm;
}

void scm_free(struct scm *scm)
{
    if (!scm)
        return;
    scm_unlock(scm);
    argv_clear(scm);
    free((char *)scm->request.mirrors);
    free((char *)scm->request.tree);
    free((char *)scm->request.url);
    free((char *)scm->request.branch);
    free((char *)scm->request.revision);
    free(scm->mirror);
    free(scm->git_dir);
    free(scm->config);
    free(scm->shown_url);
    free(scm->note);
    free(scm->said);
    free(scm->revision);
    free(scm);
}

void scm_env(const struct scm *scm, struct envlist *env)
{
    /* How git reaches the other side may depend on these, as it would for the agent's user. */
    static const char *const inherited[] = {
        "SSH_AUTH_SOCK", "http_proxy",  "https_proxy", "all_proxy", "no_proxy",
        "HTTP_PROXY",    "HTTPS_PROXY", "ALL_PROXY",   "NO_PROXY",
    };
    size_t i;

    for (i = 0; i < sizeof inherited / sizeof *inherited; i++)
        envlist_inherit(env, inherited[i]);
    envlist_set(env, "LC_ALL", "C");
    envlist_set(env, "GIT_TERMINAL_PROMPT", "0");
    envlist_set(env, "GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");
    if (scm->config)
        envlist_set(env, "GIT_CONFIG_GLOBAL", scm->config);
}

const struct scm_action *scm_next(struct scm *scm)
{
    scm->acted = scm->stage == SCM_END;
    while (!scm->acted)
        stages[scm->stage]->begin(scm);
    free(scm->said);
    scm->said = scm->note;
    scm->note = NULL;
    scm->action.note = scm->said;
    return &scm->action;
}

void scm_ran(struct scm *scm, int exit_code, struct view output)
{
    assert(scm->action.what == SCM_RUN);
    stages[scm->stage]->ran(scm, exit_code, output);
}

void scm_removed(struct scm *scm, const struct err *err)
{
    assert(scm->action.what == SCM_REMOVE);
    if (err->code) {
        scm_fail(scm, true, "remove what is damaged: %s", err->msg);
        return;
    }
    if (scm->stage == SCM_DROP_MIRROR)
        scm->stage = SCM_MIRROR;
    else
        scm->stage = scm->renew_mirror ? SCM_LOCK : SCM_TREE;
}

char *scm_show(const struct scm *scm)
{
    struct str line = STR_INIT(SHOW_MAX);
    size_t i;

    for (i = 0; i < scm->argc; i++) {
        const char *word = scm->argv[i];

        if (i > 0)
            str_putc(&line, ' ');
        text_shell_word(&line, strcmp(word, scm->request.url) == 0 ? scm->shown_url : word);
    }
    return str_detach(&line);
}
