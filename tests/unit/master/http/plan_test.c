/* The order, the expected times and the reasons of what waits. */
#include "master/http/plan.h"

#include "tests/unit/master/http/web_rig.h"

static const int64_t NOW_MS = 1700000000000;

struct world {
    struct web_rig w; /* only for its configuration */
    struct config *config;
    struct mirror mirror;
    struct plan plan;
    double expected_s;
    uint64_t waits[2]; /* of whom build waits[0] waits for waits[1] */
};

static double expected(void *arg, const char *builder)
{
    struct world *world = arg;

    (void)builder;
    return world->expected_s;
}

static void read_waits(void *arg, struct mirror_build *build)
{
    struct world *world = arg;

    build->waits_known = true;
    if (build->info.id == world->waits[0])
        vec_push(&build->waits, world->waits[1]);
}

static int setup(void **state)
{
    struct world *world = xcalloc(1, sizeof *world);

    world->w.rig.data = folder_new();
    world->config = web_rig_config(&world->w, "");
    world->expected_s = 10;
    mirror_init(&world->mirror, world->config);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    plan_release(&world->plan);
    mirror_release(&world->mirror);
    config_unref(&world->config);
    folder_remove(world->w.rig.data);
    free(world);
    return 0;
}

static void apply(struct world *world, struct event *event)
{
    mirror_apply(&world->mirror, event);
    event_free(event);
}

static void add_build(struct world *world, uint64_t id, const char *builder, const char *pool,
                      enum build_state state)
{
    struct event *event = event_new(EVENT_BUILD);

    fill_build(&event->build, id, builder, "main");
    free(event->build.pool);
    event->build.pool = xstrdup(pool);
    event->build.state = state;
    if (state == BUILD_RUNNING)
        event->build.started_ms = NOW_MS - 4000;
    apply(world, event);
}

static void add_slave(struct world *world, const char *name, const char *pool, uint32_t slots,
                      uint64_t build)
{
    struct event *event = event_new(EVENT_SLAVE);

    event->slave.name = xstrdup(name);
    event->slave.state = build ? SLAVE_BUSY : SLAVE_IDLE;
    event->slave.slots = slots;
    vec_push(&event->slave.pools, xstrdup(pool));
    if (build)
        vec_push(&event->slave.builds, build);
    apply(world, event);
}

static void make(struct world *world)
{
    const struct plan_input input = {.mirror = &world->mirror,
                                     .now_ms = NOW_MS,
                                     .expected = expected,
                                     .read_waits = read_waits,
                                     .arg = world};

    plan_release(&world->plan);
    memset(&world->plan, 0, sizeof world->plan);
    plan_make(&input, &world->plan);
}

/* starts_s: from now; -1 for not known. */
static void expect(struct world *world, size_t index, uint64_t id, int64_t starts_s,
                   const char *reason)
{
    const struct plan_entry *entry = &world->plan.entries.v[index];
    struct str out = STR_INIT(4096);

    assert_true(index < world->plan.entries.n);
    assert_int_equal(entry->build->info.id, id);
    assert_int_equal(entry->starts_ms, starts_s < 0 ? 0 : NOW_MS + starts_s * 1000);
    plan_reason(&world->mirror, &world->plan, entry, &out);
    assert_string_equal(str_cstr(&out), reason);
    str_release(&out);
}

static void test_slots(void **state)
{
    struct world *world = *state;

    add_build(world, 1, "unit", "linux", BUILD_RUNNING); /* ends in 6 s */
    for (uint64_t id = 2; id <= 5; id++)
        add_build(world, id, "unit", "linux", BUILD_QUEUED);
    add_slave(world, "linux-1", "linux", 2, 1);
    make(world);
    expect(world, 0, 2, 0, "1st in pool linux, 1 slot of 2 busy");
    expect(world, 1, 3, 6, "2nd in pool linux, 1 slot of 2 busy");
    expect(world, 2, 4, 10, "3rd in pool linux, 1 slot of 2 busy");
    expect(world, 3, 5, 16, "4th in pool linux, 1 slot of 2 busy");
}

static void test_unknown_durations(void **state)
{
    struct world *world = *state;

    add_build(world, 1, "unit", "linux", BUILD_RUNNING);
    add_build(world, 2, "unit", "linux", BUILD_QUEUED);
    add_build(world, 3, "unit", "linux", BUILD_QUEUED);
    add_slave(world, "linux-1", "linux", 2, 1);
    world->expected_s = -1;
    make(world);
    expect(world, 0, 2, 0, "1st in pool linux, 1 slot of 2 busy");
    expect(world, 1, 3, -1, "2nd in pool linux, 1 slot of 2 busy");
}

static void test_order(void **state)
{
    static const uint64_t order[] = {4, 2, 3, 1, 5};
    struct world *world = *state;
    struct event *event;

    for (uint64_t id = 1; id <= 4; id++) {
        event = event_new(EVENT_BUILD);
        fill_build(&event->build, id, "unit", "main");
        event->build.priority = id == 4 ? PRIORITY_HIGH : id == 1 ? PRIORITY_LOW : PRIORITY_NORMAL;
        event->build.queued_ms = 500;
        apply(world, event);
    }
    add_build(world, 5, "bench", "talos", BUILD_QUEUED);
    make(world);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(world->plan.entries.v[i].build->info.id, order[i]);
        assert_int_equal(world->plan.entries.v[i].position, i == 4 ? 1 : i + 1);
    }
}

static void test_nobody_there(void **state)
{
    struct world *world = *state;
    struct event *event;

    add_build(world, 1, "unit", "linux", BUILD_QUEUED);
    add_build(world, 2, "bench", "talos", BUILD_QUEUED);
    add_slave(world, "talos-1", "talos", 1, 0);
    make(world);
    expect(world, 0, 1, -1, "no slave of pool linux is connected");
    expect(world, 1, 2, -1, "no connected slave of pool talos has quiet");
    event = event_new(EVENT_SLAVE);
    event->slave.name = xstrdup("linux-1");
    event->slave.state = SLAVE_DRAINING;
    event->slave.slots = 2;
    vec_push(&event->slave.pools, xstrdup("linux"));
    apply(world, event);
    make(world);
    expect(world, 0, 1, -1, "every connected slave of pool linux is draining");
    event = event_new(EVENT_POOL);
    event->pool.name = xstrdup("linux");
    event->pool.paused = true;
    apply(world, event);
    make(world);
    expect(world, 0, 1, -1, "pool linux is paused");
    event = event_new(EVENT_HEALTH);
    event->text = xstrdup("disk full");
    apply(world, event);
    make(world);
    expect(world, 1, 2, -1, "nothing starts while the store cannot write: disk full");
}

static void test_limited_builder(void **state)
{
    struct world *world = *state;

    add_build(world, 1, "narrow", "linux", BUILD_RUNNING); /* ends in 6 s */
    add_build(world, 2, "narrow", "linux", BUILD_QUEUED);
    add_build(world, 3, "narrow", "linux", BUILD_QUEUED);
    add_build(world, 4, "unit", "linux", BUILD_QUEUED);
    add_slave(world, "linux-1", "linux", 9, 1);
    make(world);
    expect(world, 0, 2, 6, "builder narrow runs at most 1 at once, 1 running");
    expect(world, 1, 3, 16, "builder narrow runs at most 1 at once, 1 running");
    expect(world, 2, 4, 0, "3rd in pool linux, 1 slot of 9 busy");
}

static void test_waiting(void **state)
{
    struct world *world = *state;

    world->waits[0] = 3;
    world->waits[1] = 2;
    add_build(world, 2, "unit", "linux", BUILD_RUNNING); /* ends in 6 s */
    add_build(world, 3, "bench", "linux", BUILD_WAITING);
    add_build(world, 4, "unit", "linux", BUILD_QUEUED);
    add_slave(world, "linux-1", "linux", 2, 2);
    make(world);
    expect(world, 0, 4, 0, "1st in pool linux, 1 slot of 2 busy");
    expect(world, 1, 3, -1, "waiting for build 2 (unit), which is running");
    assert_int_equal(world->plan.entries.v[1].position, 2);
}

static void test_waiting_has_a_time(void **state)
{
    struct world *world = *state;

    world->waits[0] = 3;
    world->waits[1] = 2;
    add_build(world, 2, "unit", "linux", BUILD_RUNNING);
    add_build(world, 3, "unit", "linux", BUILD_WAITING);
    add_slave(world, "linux-1", "linux", 2, 2);
    make(world);
    expect(world, 0, 3, 6, "waiting for build 2 (unit), which is running");
}

static void test_ordinals(void **state)
{
    static const char *const words[] = {"1st",  "2nd",  "3rd",  "4th",  "10th",  "11th", "12th",
                                        "13th", "20th", "21st", "22nd", "101st", "111th"};
    static const size_t at[] = {1, 2, 3, 4, 10, 11, 12, 13, 20, 21, 22, 101, 111};
    struct world *world = *state;

    for (uint64_t id = 1; id <= 111; id++)
        add_build(world, id, "unit", "linux", BUILD_QUEUED);
    add_slave(world, "linux-1", "linux", 1, 0);
    make(world);
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        char *text = xasprintf("%s in pool linux, 0 slots of 1 busy", words[i]);

        expect(world, at[i] - 1, at[i], (int64_t)(at[i] - 1) * 10, text);
        free(text);
    }
}

int main(void)
{
#define PLAN_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        PLAN_TEST(test_slots),
        PLAN_TEST(test_unknown_durations),
        PLAN_TEST(test_order),
        PLAN_TEST(test_nobody_there),
        PLAN_TEST(test_limited_builder),
        PLAN_TEST(test_waiting),
        PLAN_TEST(test_waiting_has_a_time),
        PLAN_TEST(test_ordinals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
