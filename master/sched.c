#include "master/sched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "common/base/vec.h"

struct sched_lane {
    struct sched_pool *pool;
    char *builder; /* set for limited requests, which have a lane of their own */
    text_list needs;
    VEC(struct sched_request *) heap;
    uint64_t tried; /* the pool's epoch at which no free slave fitted */
    struct sched_lane *prev, *next;
};

/* A slave's membership of one pool: in the pool's free list while it has a free slot. */
struct sched_seat {
    struct sched_slave *slave;
    struct sched_pool *pool;
    bool listed;
    struct sched_seat *prev, *next;
};

struct sched_pool {
    char *name;
    bool paused;
    struct sched_lane *lanes;
    struct sched_seat *free; /* the longest free first */
    uint64_t epoch;          /* grows when a slave joins the free list or a limit may have gone */
    size_t queued;
    struct sched_pool *prev, *next;
};

struct sched_slave {
    struct sched *sched;
    void *owner;
    text_list labels;
    uint32_t free;
    struct sched_seat *seats;
    size_t n_seats;
};

struct sched {
    sched_may_start may_start;
    void *owner;
    struct sched_pool *pools;
};

struct sched *sched_new(sched_may_start may_start, void *owner)
{
    struct sched *sched = xcalloc(1, sizeof *sched);

    sched->may_start = may_start;
    sched->owner = owner;
    return sched;
}

static void lane_free(struct sched_lane *lane)
{
    free(lane->builder);
    text_list_release(&lane->needs);
    vec_release(&lane->heap);
    free(lane);
}

void sched_free(struct sched *sched)
{
    struct sched_pool *pool, *next_pool;
    struct sched_lane *lane, *next_lane;

    if (!sched)
        return;
    DL_FOREACH_SAFE (sched->pools, pool, next_pool) {
        DL_FOREACH_SAFE (pool->lanes, lane, next_lane) {
            lane_free(lane);
        }
        free(pool->name);
        free(pool);
    }
    free(sched);
}

static struct sched_pool *pool_find(const struct sched *sched, const char *name)
{
    struct sched_pool *pool;

    DL_FOREACH (sched->pools, pool) {
        if (strcmp(pool->name, name) == 0)
            return pool;
    }
    return NULL;
}

static struct sched_pool *pool_get(struct sched *sched, const char *name)
{
    struct sched_pool *pool = pool_find(sched, name);

    if (pool)
        return pool;
    pool = xcalloc(1, sizeof *pool);
    pool->name = xstrdup(name);
    pool->epoch = 1;
    DL_APPEND(sched->pools, pool);
    return pool;
}

static bool list_equal(const text_list *a, const text_list *b)
{
    size_t n = b ? b->n : 0;

    if (a->n != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(a->v[i], b->v[i]) != 0)
            return false;
    }
    return true;
}

static void list_copy(text_list *to, const text_list *from)
{
    for (size_t i = 0; from && i < from->n; i++)
        vec_push(to, xstrdup(from->v[i]));
}

static struct sched_lane *lane_get(struct sched_pool *pool, const struct sched_request *request)
{
    const char *builder = request->limited ? request->builder : NULL;
    struct sched_lane *lane;

    DL_FOREACH (pool->lanes, lane) {
        bool same_builder =
            builder ? lane->builder && strcmp(lane->builder, builder) == 0 : !lane->builder;

        if (same_builder && list_equal(&lane->needs, request->needs))
            return lane;
    }
    lane = xcalloc(1, sizeof *lane);
    lane->pool = pool;
    lane->builder = builder ? xstrdup(builder) : NULL;
    list_copy(&lane->needs, request->needs);
    DL_APPEND(pool->lanes, lane);
    return lane;
}

/* Whether a comes before b. Ids are given out in the order of asking; the wall clock may jump. */
static bool before(const struct sched_request *a, const struct sched_request *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->id < b->id;
}

static void heap_place(struct sched_lane *lane, size_t i, struct sched_request *request)
{
    lane->heap.v[i] = request;
    request->index = i;
}

static void heap_up(struct sched_lane *lane, size_t i)
{
    struct sched_request *request = lane->heap.v[i];

    while (i > 0 && before(request, lane->heap.v[(i - 1) / 2])) {
        heap_place(lane, i, lane->heap.v[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_place(lane, i, request);
}

static void heap_down(struct sched_lane *lane, size_t i)
{
    struct sched_request *request = lane->heap.v[i];

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= lane->heap.n)
            break;
        if (child + 1 < lane->heap.n && before(lane->heap.v[child + 1], lane->heap.v[child]))
            child++;
        if (!before(lane->heap.v[child], request))
            break;
        heap_place(lane, i, lane->heap.v[child]);
        i = child;
    }
    heap_place(lane, i, request);
}

void sched_add(struct sched *sched, struct sched_request *request)
{
    struct sched_pool *pool = pool_get(sched, request->pool);
    struct sched_lane *lane = lane_get(pool, request);

    assert(!request->lane);
    request->lane = lane;
    vec_push(&lane->heap, request);
    heap_up(lane, lane->heap.n - 1);
    pool->queued++;
}

void sched_remove(struct sched *sched, struct sched_request *request)
{
    struct sched_lane *lane = request->lane;
    size_t i = request->index;
    struct sched_request *last;

    (void)sched;
    if (!lane)
        return;
    request->lane = NULL;
    lane->pool->queued--;
    last = lane->heap.v[--lane->heap.n];
    if (last != request) {
        heap_place(lane, i, last);
        heap_up(lane, i);
        heap_down(lane, last->index);
    }
    if (lane->heap.n == 0) {
        DL_DELETE(lane->pool->lanes, lane);
        lane_free(lane);
    }
}

size_t sched_queued(const struct sched *sched, const char *pool)
{
    struct sched_pool *found = pool_find(sched, pool);

    return found ? found->queued : 0;
}

void sched_pause(struct sched *sched, const char *pool, bool paused)
{
    pool_get(sched, pool)->paused = paused;
}

bool sched_is_paused(const struct sched *sched, const char *pool)
{
    struct sched_pool *found = pool_find(sched, pool);

    return found && found->paused;
}

void sched_unblock(struct sched *sched)
{
    struct sched_pool *pool;

    DL_FOREACH (sched->pools, pool) {
        pool->epoch++;
    }
}

struct sched_slave *sched_slave_new(struct sched *sched, const text_list *pools,
                                    const text_list *labels, void *owner)
{
    struct sched_slave *slave = xcalloc(1, sizeof *slave);

    slave->sched = sched;
    slave->owner = owner;
    list_copy(&slave->labels, labels);
    slave->n_seats = pools->n;
    slave->seats = xcalloc(pools->n, sizeof *slave->seats);
    for (size_t i = 0; i < pools->n; i++) {
        slave->seats[i].slave = slave;
        slave->seats[i].pool = pool_get(sched, pools->v[i]);
    }
    return slave;
}

static void seat_leave(struct sched_seat *seat)
{
    if (!seat->listed)
        return;
    DL_DELETE(seat->pool->free, seat);
    seat->listed = false;
}

static void seat_join(struct sched_seat *seat)
{
    if (seat->listed)
        return;
    DL_APPEND(seat->pool->free, seat);
    seat->listed = true;
    seat->pool->epoch++;
}

void sched_slave_set_free(struct sched_slave *slave, uint32_t slots)
{
    slave->free = slots;
    for (size_t i = 0; i < slave->n_seats; i++) {
        if (slots > 0)
            seat_join(&slave->seats[i]);
        else
            seat_leave(&slave->seats[i]);
    }
}

void sched_slave_free(struct sched_slave *slave)
{
    if (!slave)
        return;
    for (size_t i = 0; i < slave->n_seats; i++)
        seat_leave(&slave->seats[i]);
    free(slave->seats);
    text_list_release(&slave->labels);
    free(slave);
}

static bool has_label(const struct sched_slave *slave, const char *label)
{
    for (size_t i = 0; i < slave->labels.n; i++) {
        if (strcmp(slave->labels.v[i], label) == 0)
            return true;
    }
    return false;
}

static bool fits(const struct sched_slave *slave, const struct sched_lane *lane)
{
    for (size_t i = 0; i < lane->needs.n; i++) {
        if (!has_label(slave, lane->needs.v[i]))
            return false;
    }
    return true;
}

/* The free slave for the lane's first request, or NULL, which is remembered until something
 * changes. */
static struct sched_seat *lane_seat(struct sched *sched, struct sched_lane *lane)
{
    struct sched_pool *pool = lane->pool;
    struct sched_seat *seat;

    if (lane->tried == pool->epoch)
        return NULL;
    if (!lane->builder || sched->may_start(sched->owner, lane->builder)) {
        DL_FOREACH (pool->free, seat) {
            if (fits(seat->slave, lane))
                return seat;
        }
    }
    lane->tried = pool->epoch;
    return NULL;
}

/* Takes a slot; a slave that still has one goes to the end, so that work spreads over machines. */
static void slave_take(struct sched_slave *slave)
{
    slave->free--;
    for (size_t i = 0; i < slave->n_seats; i++) {
        struct sched_seat *seat = &slave->seats[i];

        seat_leave(seat);
        if (slave->free > 0) {
            DL_APPEND(seat->pool->free, seat);
            seat->listed = true;
        }
    }
}

bool sched_next(struct sched *sched, struct sched_match *match)
{
    struct sched_request *best = NULL;
    struct sched_seat *best_seat = NULL;
    struct sched_pool *pool;
    struct sched_lane *lane;

    DL_FOREACH (sched->pools, pool) {
        if (pool->paused || !pool->free)
            continue;
        DL_FOREACH (pool->lanes, lane) {
            struct sched_seat *seat;

            if (best && !before(lane->heap.v[0], best))
                continue;
            seat = lane_seat(sched, lane);
            if (seat) {
                best = lane->heap.v[0];
                best_seat = seat;
            }
        }
    }
    if (!best)
        return false;
    match->request = best;
    match->slave = best_seat->slave->owner;
    sched_remove(sched, best);
    slave_take(best_seat->slave);
    return true;
}
