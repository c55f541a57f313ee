#include "master/model.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

static const char *const build_states[] = {
    [BUILD_WAITING] = "waiting",   [BUILD_QUEUED] = "queued",     [BUILD_RUNNING] = "running",
    [BUILD_DETACHED] = "detached", [BUILD_FINISHED] = "finished",
};
static const char *const priorities[] = {
    [PRIORITY_HIGH] = "high", [PRIORITY_NORMAL] = "normal", [PRIORITY_LOW] = "low"};
static const char *const slave_states[] = {
    [SLAVE_OFFLINE] = "offline",
    [SLAVE_IDLE] = "idle",
    [SLAVE_BUSY] = "busy",
    [SLAVE_DRAINING] = "draining",
    [SLAVE_QUARANTINED] = "quarantined",
    [SLAVE_INCOMPATIBLE] = "incompatible",
};
static const char *const step_states[] = {
    [STEP_WAITING] = "waiting", [STEP_RUNNING] = "running", [STEP_FINISHED] = "finished"};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* "?" for a number that is none; the tables may have holes. */
static const char *word(const char *const *words, size_t n, unsigned index)
{
    return index < n && words[index] ? words[index] : "?";
}

static bool number_of(const char *const *words, size_t n, const char *name, unsigned *out)
{
    for (size_t i = 0; name && i < n; i++) {
        if (words[i] && strcmp(words[i], name) == 0) {
            *out = (unsigned)i;
            return true;
        }
    }
    return false;
}

const char *build_state_name(enum build_state state)
{
    return word(build_states, COUNT(build_states), state);
}

const char *priority_name(enum priority priority)
{
    return word(priorities, COUNT(priorities), priority);
}

const char *slave_state_name(enum slave_state state)
{
    return word(slave_states, COUNT(slave_states), state);
}

const char *step_state_name(enum step_state state)
{
    return word(step_states, COUNT(step_states), state);
}

bool build_state_of_name(const char *name, enum build_state *out)
{
    unsigned number;

    if (!number_of(build_states, COUNT(build_states), name, &number))
        return false;
    *out = (enum build_state)number;
    return true;
}

bool priority_of_name(const char *name, enum priority *out)
{
    unsigned number;

    if (!number_of(priorities, COUNT(priorities), name, &number))
        return false;
    *out = (enum priority)number;
    return true;
}

static char *copy(const char *text)
{
    return text ? xstrdup(text) : NULL;
}

static void copy_list(text_list *to, const text_list *from)
{
    memset(to, 0, sizeof *to);
    for (size_t i = 0; i < from->n; i++)
        vec_push(to, xstrdup(from->v[i]));
}

void build_info_copy(struct build_info *to, const struct build_info *from)
{
    *to = *from;
    to->builder = copy(from->builder);
    to->project = copy(from->project);
    to->branch = copy(from->branch);
    to->revision = copy(from->revision);
    to->slave = copy(from->slave);
    to->pool = copy(from->pool);
    to->reason = copy(from->reason);
    to->author = copy(from->author);
    to->note = copy(from->note);
    to->cancel = copy(from->cancel);
}

void build_info_release(struct build_info *info)
{
    free(info->builder);
    free(info->project);
    free(info->branch);
    free(info->revision);
    free(info->slave);
    free(info->pool);
    free(info->reason);
    free(info->author);
    free(info->note);
    free(info->cancel);
    memset(info, 0, sizeof *info);
}

void attempt_info_copy(struct attempt_info *to, const struct attempt_info *from)
{
    *to = *from;
    to->slave = copy(from->slave);
    to->reason = copy(from->reason);
}

void attempt_info_release(struct attempt_info *info)
{
    free(info->slave);
    free(info->reason);
    memset(info, 0, sizeof *info);
}

void step_info_copy(struct step_info *to, const struct step_info *from)
{
    *to = *from;
    to->name = copy(from->name);
    to->reason = copy(from->reason);
}

void step_info_release(struct step_info *info)
{
    free(info->name);
    free(info->reason);
    memset(info, 0, sizeof *info);
}

void change_info_copy(struct change_info *to, const struct change_info *from)
{
    *to = *from;
    to->project = copy(from->project);
    to->branch = copy(from->branch);
    to->revision = copy(from->revision);
    to->author = copy(from->author);
    to->comment = copy(from->comment);
    copy_list(&to->files, &from->files);
}

void change_info_release(struct change_info *info)
{
    free(info->project);
    free(info->branch);
    free(info->revision);
    free(info->author);
    free(info->comment);
    text_list_release(&info->files);
    memset(info, 0, sizeof *info);
}

void set_info_copy(struct set_info *to, const struct set_info *from)
{
    *to = *from;
    to->reason = copy(from->reason);
    to->project = copy(from->project);
    to->branch = copy(from->branch);
    to->revision = copy(from->revision);
}

void set_info_release(struct set_info *info)
{
    free(info->reason);
    free(info->project);
    free(info->branch);
    free(info->revision);
    memset(info, 0, sizeof *info);
}

void slave_info_copy(struct slave_info *to, const struct slave_info *from)
{
    *to = *from;
    to->name = copy(from->name);
    to->version = copy(from->version);
    to->platform = copy(from->platform);
    to->reason = copy(from->reason);
    copy_list(&to->pools, &from->pools);
    copy_list(&to->labels, &from->labels);
    memset(&to->builds, 0, sizeof to->builds);
    for (size_t i = 0; i < from->builds.n; i++)
        vec_push(&to->builds, from->builds.v[i]);
}

void slave_info_release(struct slave_info *info)
{
    free(info->name);
    free(info->version);
    free(info->platform);
    free(info->reason);
    text_list_release(&info->pools);
    text_list_release(&info->labels);
    vec_release(&info->builds);
    memset(info, 0, sizeof *info);
}

void pool_info_copy(struct pool_info *to, const struct pool_info *from)
{
    *to = *from;
    to->name = copy(from->name);
}

void pool_info_release(struct pool_info *info)
{
    free(info->name);
    memset(info, 0, sizeof *info);
}
