/*
 * model: the master's nouns as plain records with owned strings: what the loop keeps, the store
 * writes and reads back, and the web prints. They travel between the threads as copies. A zeroed
 * struct is empty; X_copy() makes a deep copy into an empty one; X_release() frees the strings and
 * leaves it empty. Absent strings are NULL, absent times 0.
 */
#ifndef TAILRACE_MASTER_MODEL_H
#define TAILRACE_MASTER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/text.h"
#include "proto/msg.h"

/* Stored as numbers: never renumber. */
enum build_state {
    BUILD_WAITING = 1, /* for another build (`after`) */
    BUILD_QUEUED = 2,
    BUILD_RUNNING = 3,
    BUILD_DETACHED = 4, /* its slave is out of touch */
    BUILD_FINISHED = 5,
};

enum priority { PRIORITY_HIGH = 0, PRIORITY_NORMAL = 1, PRIORITY_LOW = 2, PRIORITY_COUNT = 3 };

enum slave_state {
    SLAVE_OFFLINE,
    SLAVE_IDLE,
    SLAVE_BUSY,
    SLAVE_DRAINING,
    SLAVE_QUARANTINED,
    SLAVE_INCOMPATIBLE, /* speaks no protocol version of ours; refused */
};

enum step_state { STEP_WAITING, STEP_RUNNING, STEP_FINISHED };

const char *build_state_name(enum build_state state);
const char *priority_name(enum priority priority);
const char *slave_state_name(enum slave_state state);
const char *step_state_name(enum step_state state);
/* false when the word is none. */
bool build_state_of_name(const char *name, enum build_state *out);
bool priority_of_name(const char *name, enum priority *out);

struct build_info {
    uint64_t id, set_id;
    char *builder, *project, *branch;
    char *revision; /* NULL until known: forced on a branch's tip */
    enum build_state state;
    enum build_result result;
    uint32_t attempt; /* the newest; 0 before the first */
    char *slave;      /* of the newest attempt */
    char *pool;
    enum priority priority;
    char *reason; /* why it was asked for */
    char *author;
    char *note;        /* why it ended as it did, when that was not a step's doing */
    char *cancel;      /* why somebody asked for its end; NULL: nobody did */
    int64_t queued_ms; /* asked for; the FIFO key, kept over attempts */
    int64_t started_ms, finished_ms;
    uint64_t stands_for_id; /* the build that took this one's place; 0: none */
    uint64_t rebuild_of_id; /* 0: none */
};

struct attempt_info {
    uint64_t build_id;
    uint32_t attempt;
    char *slave;
    int64_t started_ms, finished_ms;
    enum build_result result;
    bool lost; /* the slave was gone too long */
    char *reason;
    uint64_t last; /* newest record applied */
    uint32_t n_steps;
};

struct log_info {
    uint64_t bytes, lines;
    uint64_t stored_bytes; /* of the file */
};

struct step_info {
    uint32_t number;
    char *name;
    enum step_kind kind;
    enum step_state state;
    enum build_result result;
    int64_t exit_code; /* good when has_exit */
    bool has_exit;
    char *reason;
    int64_t started_ms, finished_ms;
    double user_s, system_s;
    uint64_t max_rss_bytes;
    struct log_info log[2]; /* by stream */
};

struct change_info {
    uint64_t id, set_id;
    char *project, *branch, *revision, *author, *comment;
    int64_t at_ms;
    text_list files;
};

struct set_info {
    uint64_t id;
    char *reason, *project, *branch, *revision;
    int64_t created_ms;
};

struct slave_info {
    char *name;
    enum slave_state state;
    text_list pools, labels;
    uint32_t slots, running;
    char *version, *platform; /* NULL while never connected */
    int64_t connected_ms, last_seen_ms;
    char *reason; /* why offline, draining, refused */
    struct {
        uint64_t *v;
        size_t n, cap;
    } builds; /* ids running there */
};

struct pool_info {
    char *name;
    uint32_t queued, running, slots, slaves;
    bool paused;
    bool backlog_latest;
};

void build_info_copy(struct build_info *to, const struct build_info *from);
void build_info_release(struct build_info *info);
void attempt_info_copy(struct attempt_info *to, const struct attempt_info *from);
void attempt_info_release(struct attempt_info *info);
void step_info_copy(struct step_info *to, const struct step_info *from);
void step_info_release(struct step_info *info);
void change_info_copy(struct change_info *to, const struct change_info *from);
void change_info_release(struct change_info *info);
void set_info_copy(struct set_info *to, const struct set_info *from);
void set_info_release(struct set_info *info);
void slave_info_copy(struct slave_info *to, const struct slave_info *from);
void slave_info_release(struct slave_info *info);
void pool_info_copy(struct pool_info *to, const struct pool_info *from);
void pool_info_release(struct pool_info *info);

#endif
