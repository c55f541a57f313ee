#include "slave/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

#define V(text) ((struct view){text, sizeof(text) - 1})

/* A START that is fine; tests spoil one thing of it. */
struct sample {
    struct msg_start start;
    struct msg_step steps[2];
    struct msg_pair env[1], step_env[1];
    struct view argv[2];
};

static void sample_init(struct sample *s)
{
    *s = (struct sample){
        .start = {.build = 12,
                  .attempt = 1,
                  .builder = V("sds-build"),
                  .project = V("sds"),
                  .branch = V("master"),
                  .revision = V("0123abcd"),
                  .url = V("http://ci.example.org/builds/12"),
                  .git = V("https://example.org/sds.git")},
        .steps = {{.name = V("checkout"), .kind = STEP_CHECKOUT},
                  {.name = V("test"), .kind = STEP_TEST, .dir = V("sub/folder"), .timeout_ms = 5}},
        .env = {{V("LANG"), V("C")}},
        .step_env = {{V("MODE"), V("")}},
        .argv = {V("make"), V("check")},
    };
    s->start.steps.v = s->steps;
    s->start.steps.n = 2;
    s->start.env.v = s->env;
    s->start.env.n = 1;
    s->steps[1].argv.v = s->argv;
    s->steps[1].argv.n = 2;
    s->steps[1].env.v = s->step_env;
    s->steps[1].env.n = 1;
}

static void test_copies_everything(void **state)
{
    struct sample *s = xmalloc(sizeof *s);
    const struct msg_start *spec;
    struct job *job = NULL;
    char *name = xstrdup("sds-build");

    (void)state;
    sample_init(s);
    s->start.builder = view_of(name);
    assert_int_equal(job_new(&s->start, &job, NULL), ERR_OK);
    memset(name, 'x', strlen(name));
    free(name);
    memset(s, 0xff, sizeof *s);
    free(s);

    spec = job_spec(job);
    assert_int_equal(spec->build, 12);
    assert_string_equal(spec->builder.p, "sds-build");
    assert_string_equal(spec->revision.p, "0123abcd");
    assert_string_equal(spec->git.p, "https://example.org/sds.git");
    assert_int_equal(spec->env.n, 1);
    assert_string_equal(spec->env.v[0].name.p, "LANG");
    assert_string_equal(spec->env.v[0].value.p, "C");
    assert_int_equal(spec->steps.n, 2);
    assert_int_equal(spec->steps.v[0].kind, STEP_CHECKOUT);
    assert_string_equal(spec->steps.v[0].dir.p, "");
    assert_null(spec->steps.v[0].argv.v);
    assert_string_equal(spec->steps.v[1].dir.p, "sub/folder");
    assert_int_equal(spec->steps.v[1].timeout_ms, 5);
    assert_int_equal(spec->steps.v[1].argv.n, 2);
    assert_string_equal(spec->steps.v[1].argv.v[1].p, "check");
    assert_string_equal(spec->steps.v[1].env.v[0].value.p, "");
    job_free(job);
    job_free(NULL);
}

/* Refused, and the sentence says what. */
static void check_refused(const struct sample *s, const char *words)
{
    struct err err = ERR_INIT;
    struct job *job = NULL;

    assert_int_equal(job_new(&s->start, &job, &err), ERR_PROTO);
    assert_null(job);
    if (!strstr(err.msg, words))
        fail_msg("'%s' does not say '%s'", err.msg, words);
}

static void test_refuses_bad_builds(void **state)
{
    struct sample s;

    (void)state;
    sample_init(&s);
    s.start.steps.n = 0;
    check_refused(&s, "no steps");
    sample_init(&s);
    s.start.builder = V("../evil");
    check_refused(&s, "builder's name");
    sample_init(&s);
    s.start.builder = V("");
    check_refused(&s, "builder's name");
    sample_init(&s);
    s.start.git = V("");
    check_refused(&s, "step 1: there is no repository");
    sample_init(&s);
    s.start.revision = s.start.branch = V("");
    check_refused(&s, "step 1: there is neither");
    sample_init(&s);
    s.start.revision = V("abc\0def");
    check_refused(&s, "NUL");
    sample_init(&s);
    s.env[0].name = V("A=B");
    check_refused(&s, "env: variable 1");
    sample_init(&s);
    s.env[0].name = V("");
    check_refused(&s, "env: variable 1");
}

static void test_refuses_bad_steps(void **state)
{
    struct sample s;

    (void)state;
    sample_init(&s);
    s.steps[1].kind = STEP_KIND_LAST + 1;
    check_refused(&s, "step 2: this slave knows no steps of kind 5");
    sample_init(&s);
    s.steps[1].kind = 0;
    check_refused(&s, "kind 0");
    sample_init(&s);
    s.steps[1].on_failure = ON_FAILURE_LAST + 1;
    check_refused(&s, "on_failure 3");
    sample_init(&s);
    s.steps[1].argv.n = 0;
    check_refused(&s, "step 2: it has no command");
    sample_init(&s);
    s.steps[1].shell = V("make check");
    check_refused(&s, "both");
    sample_init(&s);
    s.argv[0] = V("");
    check_refused(&s, "program is empty");
    sample_init(&s);
    s.argv[1] = V("a\0b");
    check_refused(&s, "argument 1 holds a NUL");
    sample_init(&s);
    s.step_env[0].value = V("a\0b");
    check_refused(&s, "step 2: env: variable 1");
}

static void test_dirs_stay_inside(void **state)
{
    const struct view good[] = {V(""), V("."), V("a/b/"), V("..a/b.."), V("a/.../b")};
    const struct view bad[] = {V("/"),      V("/etc"), V(".."),    V("../a"),
                               V("a/../b"), V("a/.."), V("a//.."), V("a\0b")};
    struct sample s;
    struct job *job;
    size_t i;

    (void)state;
    sample_init(&s);
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        s.steps[1].dir = good[i];
        assert_int_equal(job_new(&s.start, &job, NULL), ERR_OK);
        job_free(job);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        s.steps[1].dir = bad[i];
        check_refused(&s, "leaves the build's folder");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_everything),
        cmocka_unit_test(test_refuses_bad_builds),
        cmocka_unit_test(test_refuses_bad_steps),
        cmocka_unit_test(test_dirs_stay_inside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
