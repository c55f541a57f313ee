#include "slave/workspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"

struct fixture {
    struct loop loop;
    char dir[64];
    unsigned released;
};

static int open_fixture(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);
    struct err err = ERR_INIT;

    (void)snprintf(f->dir, sizeof f->dir, "/tmp/tailrace-workspace-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    assert_int_equal(loop_init(&f->loop, clock_system(), &err), ERR_OK);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;

    loop_run(&f->loop);
    loop_release(&f->loop);
    assert_int_equal(fs_remove_tree(f->dir, &err), ERR_OK);
    free(f);
    return 0;
}

static struct workspace *claim(struct fixture *f, const char *builder, uint64_t build)
{
    struct workspace *w = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(workspace_claim(&f->loop, f->dir, view_of(builder), build, 1, &w, &err),
                     ERR_OK);
    assert_true(fs_exists(workspace_source(w)));
    assert_true(fs_exists(workspace_tmp(w)));
    return w;
}

static void on_released(void *owner)
{
    struct fixture *f = owner;

    f->released++;
}

static void release(struct fixture *f, struct workspace *w)
{
    unsigned before = f->released;

    workspace_release(w, on_released, f);
    assert_int_equal(f->released, before); /* from the loop only */
    while (f->released == before)
        loop_run_once(&f->loop, true);
}

static void assert_ends(const char *path, const char *end)
{
    assert_true(strlen(path) > strlen(end));
    assert_string_equal(path + strlen(path) - strlen(end), end);
}

static void test_each_build_has_a_folder_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct workspace *a = claim(f, "b", 1);
    struct workspace *b = claim(f, "b", 2);
    struct workspace *other = claim(f, "b.1", 3);
    struct workspace *c;

    assert_int_equal(workspace_source(a)[0], '/');
    assert_ends(workspace_source(a), "/work/b/src");
    assert_ends(workspace_source(b), "/work/b+1/src");
    assert_ends(workspace_source(other), "/work/b.1/src");
    release(f, a);
    c = claim(f, "b", 4); /* the lowest that is free */
    assert_ends(workspace_source(c), "/work/b/src");
    release(f, b);
    release(f, c);
    release(f, other);
}

static void test_tmp_goes_src_stays(void **state)
{
    struct fixture *f = *state;
    struct workspace *w = claim(f, "b", 1);
    char *tmp = xstrdup(workspace_tmp(w));
    char *deep = fs_join(tmp, "deep/er");
    char *file = fs_join(workspace_source(w), "file");
    struct err err = ERR_INIT;

    assert_int_equal(fs_mkdirs(deep, &err), ERR_OK);
    assert_int_equal(fs_replace(file, view_of("x"), 0644, &err), ERR_OK);
    release(f, w);
    assert_false(fs_exists(tmp));
    assert_true(fs_exists(file));
    w = claim(f, "b", 2);
    assert_true(fs_exists(file));
    assert_string_not_equal(workspace_tmp(w), tmp);
    release(f, w);
    free(file);
    free(deep);
    free(tmp);
}

static void test_what_a_killed_agent_left_goes(void **state)
{
    struct fixture *f = *state;
    char *left = fs_join(f->dir, "work/b/tmp-9-1/deep");
    char *top = fs_join(f->dir, "work/b/tmp-9-1");
    struct err err = ERR_INIT;
    struct workspace *w;

    assert_int_equal(fs_mkdirs(left, &err), ERR_OK);
    w = claim(f, "b", 10);
    loop_run(&f->loop);
    assert_false(fs_exists(top));
    assert_true(fs_exists(workspace_tmp(w)));
    release(f, w);
    free(left);
    free(top);
}

/* However a build left what is ours, the next one has a folder that it can work in. */
static void test_what_a_build_put_in_the_way(void **state)
{
    struct fixture *f = *state;
    char *outside = fs_join(f->dir, "outside"), *kept = fs_join(outside, "kept");
    struct err err = ERR_INIT;

    assert_int_equal(fs_mkdirs(outside, &err), ERR_OK);
    assert_int_equal(fs_replace(kept, view_of("x"), 0600, &err), ERR_OK);
    for (int i = 0; i < 7; i++) {
        struct workspace *w = claim(f, "b", (uint64_t)i + 1);
        char *source = xstrdup(workspace_source(w)), *folder = fs_dirname(source);
        char *lock = fs_join(folder, "lock");
        struct stat st;

        assert_int_equal(lstat(source, &st), 0);
        assert_true(S_ISDIR(st.st_mode) && (st.st_mode & S_IRWXU) == S_IRWXU);
        assert_true(fs_exists(kept));
        release(f, w);
        if (i < 3)
            assert_int_equal(rmdir(source), 0);
        if (i == 0)
            assert_int_equal(symlink(outside, source), 0);
        else if (i == 1)
            assert_int_equal(mkfifo(source, 0600), 0);
        else if (i == 2)
            assert_int_equal(fs_replace(source, view_of("x"), 0600, &err), ERR_OK);
        else if (i == 3)
            assert_int_equal(chmod(source, 0), 0);
        else
            assert_int_equal(fs_remove_tree(i == 4 ? lock : folder, &err), ERR_OK);
        if (i == 4)
            assert_int_equal(mkdir(lock, 0700), 0);
        else if (i == 5)
            assert_int_equal(symlink(outside, folder), 0);
        free(lock);
        free(folder);
        free(source);
    }
    free(kept);
    free(outside);
}

static void test_bad_names_and_folders(void **state)
{
    struct fixture *f = *state;
    struct workspace *w = NULL;
    struct err err = ERR_INIT;
    char *file = fs_join(f->dir, "file");

    assert_int_equal(workspace_claim(&f->loop, f->dir, view_of("../x"), 1, 1, &w, &err),
                     ERR_CONFIG);
    assert_int_equal(workspace_claim(&f->loop, f->dir, view_of(""), 1, 1, &w, &err), ERR_CONFIG);
    assert_int_equal(fs_replace(file, view_of("x"), 0644, &err), ERR_OK);
    assert_int_not_equal(workspace_claim(&f->loop, file, view_of("b"), 1, 1, &w, &err), ERR_OK);
    assert_non_null(strstr(err.msg, "make the work folder: "));
    assert_null(w);
    free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_build_has_a_folder_of_its_own, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_tmp_goes_src_stays, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_what_a_killed_agent_left_goes, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_what_a_build_put_in_the_way, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_bad_names_and_folders, open_fixture, close_fixture),
    };

    return cmocka_run_group_tests_name("slave/workspace", tests, NULL, NULL);
}
