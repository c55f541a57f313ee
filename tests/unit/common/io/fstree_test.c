#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"

enum { NOBODY = 65534 };

struct bed {
    char dir[64];
    char tree[80]; /* a folder in dir, to be removed */
    struct err err;
    uid_t uid;
};

/* Root may do all things: as root, each test runs as somebody who may not. */
static int setup(void **state)
{
    struct bed *bed = xcalloc(1, sizeof *bed);

    (void)snprintf(bed->dir, sizeof bed->dir, "/tmp/tailrace-fstree-XXXXXX");
    assert_non_null(mkdtemp(bed->dir));
    bed->uid = geteuid();
    if (bed->uid == 0) {
        assert_int_equal(chown(bed->dir, NOBODY, (gid_t)-1), 0);
        assert_int_equal(seteuid(NOBODY), 0);
    }
    (void)snprintf(bed->tree, sizeof bed->tree, "%s/tree", bed->dir);
    assert_int_equal(mkdir(bed->tree, 0755), 0);
    *state = bed;
    return 0;
}

static int teardown(void **state)
{
    struct bed *bed = *state;

    assert_int_equal(fs_remove_tree(bed->dir, &bed->err), ERR_OK);
    assert_int_equal(seteuid(bed->uid), 0);
    free(bed);
    return 0;
}

/* Good until the next call. */
static const char *in(const struct bed *bed, const char *name)
{
    static char path[256];

    (void)snprintf(path, sizeof path, "%s/%s", bed->dir, name);
    return path;
}

static void touch(const struct bed *bed, const char *name)
{
    int fd = open(in(bed, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    (void)close(fd);
}

static void folder(const struct bed *bed, const char *name)
{
    assert_int_equal(mkdir(in(bed, name), 0755), 0);
}

static void removes(struct bed *bed)
{
    if (fs_remove_tree(bed->tree, &bed->err))
        fail_msg("%s", bed->err.msg);
    assert_false(fs_exists(bed->tree));
}

static void nothing_there_is_fine(void **state)
{
    struct bed *bed = *state;

    assert_int_equal(fs_remove_tree(in(bed, "none"), &bed->err), ERR_OK);
    assert_int_equal(fs_remove_tree(in(bed, "none/below"), &bed->err), ERR_OK);
}

static void one_file(void **state)
{
    struct bed *bed = *state;

    touch(bed, "file");
    assert_int_equal(fs_remove_tree(in(bed, "file"), &bed->err), ERR_OK);
    assert_false(fs_exists(in(bed, "file")));
}

static void many_files_and_folders(void **state)
{
    struct bed *bed = *state;
    char name[64];
    int i;

    for (i = 0; i < 300; i++) {
        (void)snprintf(name, sizeof name, "tree/folder%d", i);
        folder(bed, name);
        (void)snprintf(name, sizeof name, "tree/folder%d/.hidden", i);
        touch(bed, name);
        (void)snprintf(name, sizeof name, "tree/..file%d", i);
        touch(bed, name);
    }
    removes(bed);
}

static void links_are_not_followed(void **state)
{
    struct bed *bed = *state;
    char target[128];

    folder(bed, "outside");
    touch(bed, "outside/precious");
    (void)snprintf(target, sizeof target, "%s/outside", bed->dir);
    assert_int_equal(symlink(target, in(bed, "tree/folder")), 0);
    assert_int_equal(symlink("../outside/precious", in(bed, "tree/file")), 0);
    assert_int_equal(symlink("nowhere", in(bed, "tree/dangling")), 0);
    removes(bed);
    assert_true(fs_exists(in(bed, "outside/precious")));
}

static void link_as_the_tree_itself(void **state)
{
    struct bed *bed = *state;

    touch(bed, "tree/precious");
    assert_int_equal(symlink("tree", in(bed, "link")), 0);
    assert_int_equal(fs_remove_tree(in(bed, "link"), &bed->err), ERR_OK);
    assert_false(fs_exists(in(bed, "link")));
    assert_true(fs_exists(in(bed, "tree/precious")));
}

static void folders_that_forbid_it(void **state)
{
    static const mode_t modes[] = {0555, 0444, 0333, 0111, 0};
    struct bed *bed = *state;
    char name[64];
    size_t i;

    for (i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        (void)snprintf(name, sizeof name, "tree/%zu", i);
        folder(bed, name);
        (void)snprintf(name, sizeof name, "tree/%zu/inner", i);
        folder(bed, name);
        (void)snprintf(name, sizeof name, "tree/%zu/inner/file", i);
        touch(bed, name);
        (void)snprintf(name, sizeof name, "tree/%zu/inner", i);
        assert_int_equal(chmod(in(bed, name), modes[i]), 0);
        (void)snprintf(name, sizeof name, "tree/%zu", i);
        assert_int_equal(chmod(in(bed, name), modes[i]), 0);
    }
    assert_int_equal(chmod(bed->tree, 0555), 0);
    removes(bed);
}

/* A link's target must not be made writable on the way. */
static void modes_outside_stay(void **state)
{
    struct bed *bed = *state;
    struct stat st;

    folder(bed, "outside");
    assert_int_equal(chmod(in(bed, "outside"), 0), 0);
    assert_int_equal(symlink("../outside", in(bed, "tree/link")), 0);
    removes(bed);
    assert_int_equal(stat(in(bed, "outside"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0);
}

/* Deeper than a path may be long, with fewer descriptors than levels, forbidden folders among them.
 */
static void depth_without_end(void **state)
{
    enum { LEVELS = 3000, FILES = 100 };
    struct bed *bed = *state;
    struct rlimit before, tight;
    int here = open(".", O_RDONLY | O_DIRECTORY |
                             O_CLOEXEC); /* by name it may be out of reach of who we are now */
    int i, fd;

    assert_int_equal(chdir(bed->tree), 0);
    for (i = 0; i < LEVELS; i++) {
        fd = open("file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0);
        (void)close(fd);
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(chdir("d"), 0);
        if (i % 50 == 49)
            assert_int_equal(chmod("..", 0555), 0);
    }
    assert_int_equal(fchdir(here), 0);
    (void)close(here);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    tight = before;
    tight.rlim_cur = FILES;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    removes(bed);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* What stands at the top already must not be hit by what is moved there. */
static void names_used_for_moving_are_taken(void **state)
{
    struct bed *bed = *state;
    int here = open(".", O_RDONLY | O_DIRECTORY |
                             O_CLOEXEC); /* by name it may be out of reach of who we are now */
    int i;

    folder(bed, "tree/.removed-0");
    touch(bed, "tree/.removed-0/file");
    touch(bed, "tree/.removed-1");
    assert_int_equal(chdir(bed->tree), 0);
    for (i = 0; i < 100; i++) {
        assert_int_equal(mkdir("d", 0755), 0);
        assert_int_equal(chdir("d"), 0);
    }
    assert_int_equal(mkdir("leaf", 0755), 0);
    assert_int_equal(fchdir(here), 0);
    (void)close(here);
    removes(bed);
}

/* What cannot be removed is named, and the rest goes all the same. */
static void rest_goes_when_something_stays(void **state)
{
    struct bed *bed = *state;

    if (bed->uid != 0)
        skip();
    folder(bed, "tree/theirs");
    touch(bed, "tree/theirs/file");
    touch(bed, "tree/ours");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chown(in(bed, "tree/theirs"), 0, 0), 0);
    assert_int_equal(seteuid(NOBODY), 0);
    assert_int_equal(fs_remove_tree(bed->tree, &bed->err), ERR_IO);
    assert_int_equal(bed->err.sys, EACCES);
    assert_non_null(strstr(bed->err.msg, bed->tree));
    assert_true(fs_exists(in(bed, "tree/theirs/file")));
    assert_false(fs_exists(in(bed, "tree/ours")));
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chown(in(bed, "tree/theirs"), NOBODY, 0), 0);
    assert_int_equal(seteuid(NOBODY), 0);
}

#define BED_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(nothing_there_is_fine),
        BED_TEST(one_file),
        BED_TEST(many_files_and_folders),
        BED_TEST(links_are_not_followed),
        BED_TEST(link_as_the_tree_itself),
        BED_TEST(folders_that_forbid_it),
        BED_TEST(modes_outside_stay),
        BED_TEST(depth_without_end),
        BED_TEST(names_used_for_moving_are_taken),
        BED_TEST(rest_goes_when_something_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
