#include <math.h>

#include "tests/unit/master/store/rig.h"

struct list {
    uint64_t ids[8000];
    size_t n;
    char *text; /* of the last one, owned */
};

static void add_build(void *arg, const struct build_info *build)
{
    struct list *list = arg;

    list->ids[list->n++] = build->id;
}

struct fixture {
    struct rig *rig;
    struct reader *reader;
    struct list list;
};

enum { BUILDS = 600 };

/* Builds 1 to BUILDS over 3 builders, 4 branches, 5 revisions, 6 slaves; every seventh is
 * unfinished, every tenth failed. */
static struct store_op *varied(struct rig *rig, uint64_t id)
{
    char text[32];
    struct store_op *op;

    (void)snprintf(text, sizeof text, "branch-%d", (int)(id % 4));
    op = create_op(rig, id, id % 3 == 0 ? "a" : id % 3 == 1 ? "b" : "c", text);
    op->tag = id;
    free(op->builds->project);
    op->builds->project = xstrdup(id % 2 ? "odd" : "even");
    op->builds->revision = xasprintf("r%d", (int)(id % 5));
    op->builds->slave = xasprintf("s%d", (int)(id % 6));
    op->builds->started_ms = 10000;
    if (id % 7) {
        op->builds->state = BUILD_FINISHED;
        op->builds->result = id % 10 ? RESULT_SUCCESS : RESULT_FAILURE;
        op->builds->finished_ms = 10000 + (int64_t)id * 1000;
    }
    return op;
}

static int setup(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    (void)rig_setup((void **)&f->rig);
    for (uint64_t id = 1; id <= BUILDS; id++)
        store_post(f->rig->store, varied(f->rig, id));
    rig_wait(f->rig);
    assert_int_equal(reader_open(f->rig->data, &f->reader, NULL), ERR_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    reader_close(f->reader);
    (void)rig_teardown((void **)&f->rig);
    free(f->list.text);
    free(f);
    return 0;
}

static bool wanted(const struct build_filter *f, const struct store_op *op)
{
    const struct build_info *b = op->builds;

    return (!f->builder || strcmp(f->builder, b->builder) == 0) &&
           (!f->project || strcmp(f->project, b->project) == 0) &&
           (!f->branch || strcmp(f->branch, b->branch) == 0) &&
           (!f->revision || strcmp(f->revision, b->revision) == 0) &&
           (!f->slave || strcmp(f->slave, b->slave) == 0) && (!f->state || f->state == b->state) &&
           (!f->result || f->result == b->result) && (!f->set_id || f->set_id == b->set_id);
}

/* All pages together give each matching build once, from the newest down. */
static void check_filter(struct fixture *f, struct build_filter filter)
{
    uint64_t next = 0;
    size_t at = 0;

    f->list.n = 0;
    do {
        size_t before = f->list.n;

        filter.before = next;
        assert_int_equal(reader_builds(f->reader, &filter, add_build, &f->list, &next, NULL),
                         ERR_OK);
        assert_true(f->list.n - before <= filter.limit);
    } while (next);
    for (uint64_t id = BUILDS; id >= 1; id--) {
        struct store_op *op = varied(f->rig, id);

        if (wanted(&filter, op)) {
            assert_true(at < f->list.n);
            assert_int_equal(f->list.ids[at++], id);
        }
        store_op_free(op);
    }
    assert_int_equal(at, f->list.n);
}

static void test_every_combination_of_filters(void **state)
{
    struct fixture *f = *state;

    for (unsigned bits = 0; bits < 256; bits++) {
        struct build_filter filter = {
            .builder = bits & 1 ? "a" : NULL,
            .project = bits & 2 ? "even" : NULL,
            .branch = bits & 4 ? "branch-2" : NULL,
            .revision = bits & 8 ? "r3" : NULL,
            .slave = bits & 16 ? "s0" : NULL,
            .state = bits & 32 ? BUILD_QUEUED : 0,
            .result = bits & 64 ? RESULT_SUCCESS : RESULT_NONE,
            .set_id = bits & 128 ? 18 : 0,
            .limit = 7,
        };

        check_filter(f, filter);
        filter.state = bits & 32 ? BUILD_FINISHED : 0;
        filter.result = bits & 64 ? RESULT_FAILURE : RESULT_NONE;
        filter.limit = 1000;
        check_filter(f, filter);
    }
}

static void test_last_page_is_the_last(void **state)
{
    struct fixture *f = *state;
    struct build_filter filter = {.limit = BUILDS};
    uint64_t next = 99;

    assert_int_equal(reader_builds(f->reader, &filter, add_build, &f->list, &next, NULL), ERR_OK);
    assert_int_equal(f->list.n, BUILDS);
    assert_int_equal(next, 0);
    f->list.n = 0;
    filter.limit = BUILDS - 1;
    assert_int_equal(reader_builds(f->reader, &filter, add_build, &f->list, &next, NULL), ERR_OK);
    assert_int_equal(next, 2);
}

/* A filter that an index cannot answer looks at so many rows, and then says where to go on. */
static void test_scan_is_bounded(void **state)
{
    struct fixture *f = *state;
    struct build_filter filter = {.project = "none", .limit = 10};
    uint64_t next = 0;
    unsigned pages = 0;

    for (uint64_t id = BUILDS + 1; id <= 6000; id++) {
        struct store_op *op = varied(f->rig, id);

        op->done = NULL;
        store_post(f->rig->store, op);
    }
    rig_wait(f->rig);
    do {
        filter.before = next;
        assert_int_equal(reader_builds(f->reader, &filter, add_build, &f->list, &next, NULL),
                         ERR_OK);
        pages++;
    } while (next);
    assert_int_equal(f->list.n, 0);
    assert_int_equal(pages, 7);
}

static void test_build(void **state)
{
    struct fixture *f = *state;
    struct build_info build = {0};
    struct err err = ERR_INIT;

    assert_int_equal(reader_build(f->reader, 11, keep_build, &build, NULL), ERR_OK);
    assert_string_equal(build.builder, "c");
    assert_string_equal(build.revision, "r1");
    assert_string_equal(build.reason, "push");
    assert_int_equal(build.finished_ms, 21000);
    assert_int_equal(build.queued_ms, 1011);
    assert_null(build.note);
    build_info_release(&build);
    assert_int_equal(reader_build(f->reader, 9999, keep_build, &build, &err), ERR_NOTFOUND);
    assert_string_equal(err.msg, "there is no build 9999");
}

static void test_last_by_branch(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(reader_last_by_branch(f->reader, "a", 10, add_build, &f->list, NULL), ERR_OK);
    assert_int_equal(f->list.n, 4);
    assert_int_equal(f->list.ids[0], 600);
    assert_int_equal(f->list.ids[1], 597);
    assert_int_equal(f->list.ids[3], 591);
    f->list.n = 0;
    assert_int_equal(reader_last_by_branch(f->reader, "a", 2, add_build, &f->list, NULL), ERR_OK);
    assert_int_equal(f->list.n, 2);
    assert_int_equal(reader_last_by_branch(f->reader, "z", 2, add_build, &f->list, NULL), ERR_OK);
    assert_int_equal(f->list.n, 2);
}

static void test_expected(void **state)
{
    struct fixture *f = *state;
    double all[BUILDS];
    double seconds = 0;
    size_t n = 0;

    for (uint64_t id = BUILDS; id >= 1 && n < 20; id--) {
        if (id % 3 == 0 && id % 7 && id % 10)
            all[n++] = (double)id;
    }
    assert_int_equal(reader_expected(f->reader, "a", &seconds, NULL), ERR_OK);
    assert_true(fabs(seconds - (all[9] + all[10]) / 2) < 1e-9);
    assert_int_equal(reader_expected(f->reader, "z", &seconds, NULL), ERR_OK);
    assert_true(seconds < 0);
}

static void add_wait(void *arg, uint64_t waits_for)
{
    struct list *list = arg;

    list->ids[list->n++] = waits_for;
}

static void keep_reason(void *arg, const struct set_info *set)
{
    struct list *list = arg;

    free(list->text);
    list->text = xstrdup(set->reason);
    list->ids[0] = (uint64_t)set->created_ms;
}

static void test_set_and_waits(void **state)
{
    struct fixture *f = *state;
    struct store_op *op = create_op(f->rig, 700, "a", "main");

    op->set.reason = xstrdup("nightly");
    op->waits = xcalloc(2, sizeof *op->waits);
    op->n_waits = 2;
    op->waits[0][0] = op->waits[1][0] = 700;
    op->waits[0][1] = 9;
    op->waits[1][1] = 3;
    store_post(f->rig->store, op);
    rig_wait(f->rig);
    assert_int_equal(reader_waits(f->reader, 700, add_wait, &f->list, NULL), ERR_OK);
    assert_int_equal(f->list.n, 2);
    assert_int_equal(f->list.ids[0], 3);
    assert_int_equal(reader_set(f->reader, 700, keep_reason, &f->list, NULL), ERR_OK);
    assert_string_equal(f->list.text, "nightly");
    assert_int_equal(f->list.ids[0], 1700);
    assert_int_equal(reader_set(f->reader, 701, keep_reason, &f->list, NULL), ERR_NOTFOUND);
}

static void add_change(void *arg, const struct change_info *change)
{
    struct list *list = arg;

    list->ids[list->n++] = change->id;
    free(list->text);
    list->text = change->files.n == 2 ? xstrdup(change->files.v[1]) : NULL;
}

static void post_change(struct rig *rig, uint64_t id, const char *project, const char *branch)
{
    struct store_op *op = create_op(rig, 700 + id, "a", branch);

    op->change.id = id;
    op->change.set_id = 700 + id;
    op->change.project = xstrdup(project);
    op->change.branch = xstrdup(branch);
    op->change.revision = xasprintf("r%d", (int)id);
    op->change.comment = xstrdup("why");
    vec_push(&op->change.files, xstrdup("a\nb.c"));
    vec_push(&op->change.files, xasprintf("file-%d", (int)id));
    store_post(rig->store, op);
}

static size_t count_changes(struct fixture *f, const char *project, const char *branch)
{
    uint64_t next = 0;

    f->list.n = 0;
    do {
        assert_int_equal(
            reader_changes(f->reader, project, branch, next, 2, add_change, &f->list, &next, NULL),
            ERR_OK);
    } while (next);
    return f->list.n;
}

static void test_changes(void **state)
{
    struct fixture *f = *state;

    for (uint64_t id = 1; id <= 9; id++)
        post_change(f->rig, id, id % 2 ? "p" : "q", id % 3 ? "main" : "old");
    rig_wait(f->rig);
    assert_int_equal(count_changes(f, NULL, NULL), 9);
    assert_int_equal(f->list.ids[0], 9);
    assert_int_equal(f->list.ids[8], 1);
    assert_string_equal(f->list.text, "file-1");
    assert_int_equal(count_changes(f, "p", NULL), 5);
    assert_int_equal(count_changes(f, NULL, "old"), 3);
    assert_int_equal(count_changes(f, "q", "main"), 3);
    assert_int_equal(count_changes(f, "q", "none"), 0);
}

struct points {
    double values[64];
    uint32_t steps[64];
    size_t n;
};

static void add_point(void *arg, const struct point_row *point)
{
    struct points *points = arg;

    assert_string_equal(point->metric, "wall");
    assert_string_equal(point->unit, "s");
    points->steps[points->n] = point->step;
    points->values[points->n++] = point->value;
}

static void post_points(struct rig *rig, uint64_t number, uint32_t step, const double *values,
                        size_t n)
{
    struct msg_point points[8] = {0};
    struct msg msg = {.type = REC_POINTS};

    for (size_t i = 0; i < n; i++) {
        points[i].metric = view_of("wall");
        points[i].unit = view_of("s");
        points[i].iteration = (uint32_t)i;
        points[i].value = values[i];
    }
    msg.u.points.step = step;
    msg.u.points.points.v = points;
    msg.u.points.points.n = n;
    post_record(rig, 14, number, &msg);
}

static void test_points(void **state)
{
    struct fixture *f = *state;
    struct points all = {.n = 0};
    uint64_t next = 0;

    post_attempt(f->rig, 14, 2);
    post_points(f->rig, 1, 1, (const double[]){1, 2, 3}, 3);
    post_points(f->rig, 2, 2, (const double[]){4, 5}, 2);
    rig_wait(f->rig);
    do {
        assert_int_equal(reader_points(f->reader, 14, 0, next, 2, add_point, &all, &next, NULL),
                         ERR_OK);
    } while (next);
    assert_int_equal(all.n, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(all.values[i] == (double)i + 1);
    assert_int_equal(all.steps[2], 1);
    assert_int_equal(all.steps[3], 2);
    assert_int_equal(reader_points(f->reader, 15, 0, 0, 2, add_point, &all, &next, NULL), ERR_OK);
    assert_int_equal(all.n, 5);
}

/* What is committed is seen by a reader that was open before. */
static void test_reader_sees_new_commits(void **state)
{
    struct fixture *f = *state;
    struct build_info build = {0};

    assert_int_equal(reader_build(f->reader, 800, keep_build, &build, NULL), ERR_NOTFOUND);
    store_post(f->rig->store, create_op(f->rig, 800, "a", "main"));
    rig_wait(f->rig);
    assert_int_equal(reader_build(f->reader, 800, keep_build, &build, NULL), ERR_OK);
    build_info_release(&build);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_combination_of_filters, setup, teardown),
        cmocka_unit_test_setup_teardown(test_last_page_is_the_last, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scan_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_build, setup, teardown),
        cmocka_unit_test_setup_teardown(test_last_by_branch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_expected, setup, teardown),
        cmocka_unit_test_setup_teardown(test_set_and_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_points, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reader_sees_new_commits, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
