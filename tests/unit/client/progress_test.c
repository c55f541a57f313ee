#include "client/progress.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define QUEUED                                                                                     \
    "{'id':12,'builder':'sds-build','branch':'master','state':'queued','attempt':0,"               \
    "'queued_at':'2026-01-30T11:00:00.000Z','url':'http://ci/builds/12'}"
#define RUNNING(attempt, steps)                                                                    \
    "{'id':12,'builder':'sds-build','branch':'master','state':'running','attempt':" attempt        \
    ",'slave':'linux-01','queued_at':'2026-01-30T11:00:00.000Z',"                                  \
    "'started_at':'2026-01-30T11:00:10.000Z','expected_s':60,'url':'http://ci/builds/12',"         \
    "'steps':[" steps "]}"
#define FINISHED(result, steps)                                                                    \
    "{'id':12,'builder':'sds-build','branch':'master','state':'finished','result':'" result "',"   \
    "'attempt':1,'slave':'linux-01','started_at':'2026-01-30T11:00:10.000Z',"                      \
    "'finished_at':'2026-01-30T11:01:14.000Z','url':'http://ci/builds/12','steps':[" steps "]}"
#define STEP_WAITS(number, name) "{'number':" number ",'name':'" name "','state':'waiting'}"
#define STEP_RUNS(number, name)                                                                    \
    "{'number':" number ",'name':'" name "','state':'running','started_at':"                       \
    "'2026-01-30T11:00:11.000Z'}"
#define STEP_ENDED(number, name, result, code)                                                     \
    "{'number':" number ",'name':'" name "','state':'finished','result':'" result                  \
    "','exit_code':" code ",'started_at':'2026-01-30T11:00:11.000Z',"                              \
    "'finished_at':'2026-01-30T11:00:23.000Z'}"

static const int64_t at_11_00_40 = 1769770840000;

/* JSON with ' for ", so that it can be read. */
static struct json *json_of(const char *text)
{
    struct str copy = STR_INIT(100000);
    struct err err = ERR_INIT;
    struct json *doc = NULL;

    str_put(&copy, text);
    for (size_t i = 0; i < copy.n; i++)
        if (copy.p[i] == '\'')
            copy.p[i] = '"';
    assert_int_equal(json_parse(str_view(&copy), &doc, &err), ERR_OK);
    str_release(&copy);
    return doc;
}

static void feed(struct progress *p, const char *build, const char *expected)
{
    struct str lines = STR_INIT(PROGRESS_LINES_MAX);
    struct json *doc = json_of(build);

    progress_build(p, doc, &lines);
    assert_string_equal(str_cstr(&lines), expected);
    json_free(doc);
    str_release(&lines);
}

static void feed_step(struct progress *p, int64_t attempt, const char *step, const char *expected)
{
    struct str lines = STR_INIT(PROGRESS_LINES_MAX);
    struct json *doc = json_of(step);

    progress_step(p, attempt, doc, &lines);
    assert_string_equal(str_cstr(&lines), expected);
    json_free(doc);
    str_release(&lines);
}

static void check_line(const struct progress *p, unsigned width, const char *expected)
{
    struct str out = STR_INIT(10000);

    progress_line(p, at_11_00_40, width, &out);
    assert_string_equal(str_cstr(&out), expected);
    str_release(&out);
}

static void check_verdict(const struct progress *p, bool passed, const char *expected)
{
    struct str out = STR_INIT(10000);

    progress_verdict(p, false, &out);
    assert_string_equal(str_cstr(&out), expected);
    assert_true(progress_finished(p));
    assert_int_equal(progress_passed(p), passed);
    str_release(&out);
}

static void test_a_whole_build(void **state)
{
    struct str lines = STR_INIT(10000);
    struct progress p;

    (void)state;
    progress_init(&p, 12);
    feed(&p, QUEUED, "build 12 queued (sds-build on master)\n");
    feed(&p, QUEUED, "");
    progress_waits(&p, "2nd in pool linux", &lines);
    progress_waits(&p, "1st in pool linux", &lines);
    assert_string_equal(str_cstr(&lines), "build 12 queued: 2nd in pool linux\n");
    check_line(&p, 100, "build 12 sds-build on master: queued for 40 s, 1st in pool linux");
    feed(&p, RUNNING("1", STEP_WAITS("1", "build") "," STEP_WAITS("2", "test")),
         "build 12 running on linux-01\n");
    feed_step(&p, 1, STEP_RUNS("1", "build"), "build 12 step 1 build started\n");
    check_line(&p, 100,
               "build 12 sds-build on master: step 1 of 2 build, 30 s of about 1 min 00 s "
               "[==========>         ]");
    check_line(&p, 40, "build 12 sds-build on master: step 1 of ");
    feed_step(&p, 1, STEP_ENDED("1", "build", "success", "0"),
              "build 12 step 1 build finished: success (12 s)\n");
    /* Step 2 was not heard of: the end tells of it whole. */
    feed(&p,
         FINISHED("failure", STEP_ENDED("1", "build", "success",
                                        "0") "," STEP_ENDED("2", "test", "failure", "2")),
         "build 12 step 2 test started\nbuild 12 step 2 test finished: failure, exit 2 (12 s)\n");
    check_verdict(&p, false,
                  "build 12 finished: failure after 1 min 04 s  http://ci/builds/12\n"
                  "  step 2 test: failure, exit 2; see: tailrace log 12 2\n");
    progress_release(&p);
    str_release(&lines);
}

static void test_reasons_are_told(void **state)
{
    struct progress p;

    (void)state;
    progress_init(&p, 12);
    feed(&p, RUNNING("1", STEP_RUNS("1", "total")),
         "build 12 running on linux-01\nbuild 12 step 1 total started\n");
    feed(&p,
         FINISHED("failure", "{'number':1,'name':'total','state':'finished','result':'failure',"
                             "'reason':'total limit: not done after 2 s','started_at':"
                             "'2026-01-30T11:00:11.000Z','finished_at':'2026-01-30T11:00:13.000Z'},"
                             "{'number':2,'name':'lint','state':'finished','result':'warnings',"
                             "'reason':'exit code 1'},"
                             "{'number':3,'name':'late','state':'finished','result':'skipped',"
                             "'reason':'\\u001b[2J'}"),
         "build 12 step 1 total finished: failure, total limit: not done after 2 s (2.0 s)\n"
         "build 12 step 2 lint finished: warnings, exit code 1\n"
         "build 12 step 3 late finished: skipped, \\x1b[2J\n");
    check_verdict(&p, false,
                  "build 12 finished: failure after 1 min 04 s  http://ci/builds/12\n"
                  "  step 1 total: failure, total limit: not done after 2 s; "
                  "see: tailrace log 12 1\n"
                  "  step 2 lint: warnings, exit code 1; see: tailrace log 12 2\n");
    progress_release(&p);
}

static void test_a_build_that_never_ran(void **state)
{
    struct progress p;

    (void)state;
    progress_init(&p, 12);
    feed(&p,
         "{'id':12,'state':'finished','result':'skipped','url':'http://ci/builds/12',"
         "'note':'app (build 11) ended with failure\\u0007'}",
         "");
    check_verdict(&p, false,
                  "build 12 finished: skipped  http://ci/builds/12\n"
                  "  app (build 11) ended with failure\\x07\n");
    progress_release(&p);
}

static void test_joining_late(void **state)
{
    struct progress p;

    (void)state;
    progress_init(&p, 12);
    feed(&p, RUNNING("1", STEP_ENDED("1", "build", "success", "0") "," STEP_RUNS("2", "test")),
         "build 12 running on linux-01\nbuild 12 step 2 test started\n");
    feed(&p, FINISHED("warnings", ""), "");
    check_verdict(&p, true, "build 12 finished: warnings after 1 min 04 s  http://ci/builds/12\n");
    progress_release(&p);
}

static void test_old_news_are_ignored(void **state)
{
    struct progress p;

    (void)state;
    progress_init(&p, 12);
    feed(&p, RUNNING("2", ""), "build 12 running on linux-01 (attempt 2)\n");
    feed_step(&p, 1, STEP_RUNS("1", "build"), "");
    feed(&p, RUNNING("1", ""), "");
    feed_step(&p, 2, STEP_RUNS("1", "build"), "build 12 step 1 build started\n");
    feed_step(&p, 2, STEP_WAITS("1", "build"), "");
    feed_step(&p, 2, STEP_ENDED("1", "build", "success", "0"),
              "build 12 step 1 build finished: success (12 s)\n");
    feed_step(&p, 2, STEP_RUNS("1", "build"), "");
    progress_release(&p);
}

static void test_a_lost_slave(void **state)
{
    struct progress p;

    (void)state;
    progress_init(&p, 12);
    feed(&p, RUNNING("1", STEP_RUNS("1", "build")),
         "build 12 running on linux-01\nbuild 12 step 1 build started\n");
    feed(&p, "{'id':12,'state':'detached','attempt':1,'slave':'linux-01'}",
         "build 12 detached: slave linux-01 is out of touch\n");
    feed(&p, "{'id':12,'state':'queued','attempt':1,'builder':'b','branch':'m'}",
         "build 12 queued (b on m)\n");
    feed(&p, RUNNING("2", STEP_RUNS("1", "build")),
         "build 12 running on linux-01 (attempt 2)\nbuild 12 step 1 build started\n");
    progress_release(&p);
}

static void test_finished_is_final(void **state)
{
    struct progress p;

    (void)state;
    progress_init(&p, 12);
    feed(&p, FINISHED("success", ""), "");
    feed(&p, RUNNING("1", STEP_RUNS("1", "build")), "");
    feed_step(&p, 1, STEP_RUNS("1", "build"), "");
    check_verdict(&p, true, "build 12 finished: success after 1 min 04 s  http://ci/builds/12\n");
    progress_release(&p);
}

static void test_overdue_fills_the_bar(void **state)
{
    struct progress p;

    (void)state;
    progress_init(&p, 12);
    feed(&p,
         "{'id':12,'builder':'b','branch':'m','state':'running','attempt':1,'slave':'s',"
         "'started_at':'2026-01-30T11:00:10.000Z','expected_s':20}",
         "build 12 running on s\n");
    check_line(&p, 100, "build 12 b on m: starting, 30 s of about 20 s [====================]");
    progress_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons_are_told),     cmocka_unit_test(test_a_build_that_never_ran),
        cmocka_unit_test(test_a_whole_build),        cmocka_unit_test(test_joining_late),
        cmocka_unit_test(test_old_news_are_ignored), cmocka_unit_test(test_a_lost_slave),
        cmocka_unit_test(test_finished_is_final),    cmocka_unit_test(test_overdue_fills_the_bar),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
