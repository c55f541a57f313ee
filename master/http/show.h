/*
 * show: the master's nouns as JSON, in the shapes of docs/rest.md. Each writes one value. Absent
 * values are null. Pure.
 */
#ifndef TAILRACE_MASTER_HTTP_SHOW_H
#define TAILRACE_MASTER_HTTP_SHOW_H

#include "common/base/json_out.h"
#include "master/config.h"
#include "master/model.h"
#include "master/store/reader.h"

/* What surrounds a build: how links begin ("http://host/"), and how long the builder's builds
 * usually take, negative when nobody knows. */
struct show_context {
    const char *base;
    double expected_s;
};

/* All keys but the closing brace and `steps`, for those who add more. */
void show_build_open(struct json_out *json, const struct build_info *build,
                     const struct show_context *context);
/* As in lists: steps is null. */
void show_build(struct json_out *json, const struct build_info *build,
                const struct show_context *context);
/* base as in show_context; the step stands in that attempt of that build. */
struct show_step_of {
    const char *base;
    uint64_t build;
    uint32_t attempt;
};
void show_step(struct json_out *json, const struct step_info *step, const struct show_step_of *of);
void show_attempt(struct json_out *json, const struct attempt_info *attempt);
void show_slave(struct json_out *json, const struct slave_info *slave);
void show_pool(struct json_out *json, const struct pool_info *pool);
/* Without the closing brace. */
void show_change_open(struct json_out *json, const struct change_info *change);
void show_change(struct json_out *json, const struct change_info *change);
void show_point(struct json_out *json, const struct point_row *point);
/* The builder as configured, without the closing brace, `expected_s`, `last` and `steps`. */
void show_builder_open(struct json_out *json, const struct config_builder *builder);
void show_builder_steps(struct json_out *json, const struct config_builder *builder);
void show_texts(struct json_out *json, const text_list *list);

void show_key_id(struct json_out *json, const char *key, uint64_t id); /* 0: null */

#endif
