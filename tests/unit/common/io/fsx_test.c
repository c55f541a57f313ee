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
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/fsx.h"

struct bed {
    char dir[64];
    struct err err;
};

static int setup(void **state)
{
    struct bed *bed = xcalloc(1, sizeof *bed);

    (void)snprintf(bed->dir, sizeof bed->dir, "/tmp/tailrace-fsx-XXXXXX");
    assert_non_null(mkdtemp(bed->dir));
    *state = bed;
    return 0;
}

static int teardown(void **state)
{
    struct bed *bed = *state;

    assert_int_equal(fs_remove_tree(bed->dir, NULL), ERR_OK);
    assert_false(fs_exists(bed->dir));
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

static void put(struct bed *bed, const char *name, const char *text, mode_t mode)
{
    assert_int_equal(fs_replace(in(bed, name), view_of(text), mode, &bed->err), ERR_OK);
}

static void replace_then_read(void **state)
{
    struct bed *bed = *state;
    struct str got = STR_INIT(100);
    struct stat st;

    put(bed, "file", "old and longer", 0600);
    put(bed, "file", "new", 0640);
    str_put(&got, "before ");
    assert_int_equal(fs_read(in(bed, "file"), &got, NULL), ERR_OK);
    assert_string_equal(str_cstr(&got), "before new");
    assert_int_equal(stat(in(bed, "file"), &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
    str_release(&got);
    /* No temporary is left: the folder goes with its only file. */
    assert_int_equal(unlink(in(bed, "file")), 0);
    assert_int_equal(rmdir(bed->dir), 0);
    assert_int_equal(mkdir(bed->dir, 0755), 0);
}

static void replace_in_a_missing_folder(void **state)
{
    struct bed *bed = *state;

    assert_int_equal(fs_replace(in(bed, "no/file"), view_of("x"), 0600, &bed->err), ERR_NOTFOUND);
    assert_memory_equal(bed->err.msg, "make ", 5);
}

static void replace_keeps_the_old_file_when_it_fails(void **state)
{
    struct bed *bed = *state;
    struct stat st;

    assert_int_equal(mkdir(in(bed, "taken"), 0755), 0);
    assert_int_equal(mkdir(in(bed, "taken/inside"), 0755), 0);
    assert_int_equal(fs_replace(in(bed, "taken"), view_of("x"), 0600, &bed->err), ERR_IO);
    assert_int_equal(stat(in(bed, "taken"), &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    assert_int_equal(rmdir(in(bed, "taken/inside")), 0);
    assert_int_equal(rmdir(in(bed, "taken")), 0);
    assert_int_equal(rmdir(bed->dir), 0); /* no temporary left either */
    assert_int_equal(mkdir(bed->dir, 0755), 0);
}

static void read_stops_at_the_limit(void **state)
{
    struct bed *bed = *state;
    struct str got = STR_INIT(10);

    put(bed, "ten", "0123456789", 0600);
    put(bed, "eleven", "0123456789a", 0600);
    assert_int_equal(fs_read(in(bed, "eleven"), &got, &bed->err), ERR_LIMIT);
    assert_int_equal(got.n, 0);
    assert_non_null(strstr(bed->err.msg, "eleven"));
    assert_int_equal(fs_read(in(bed, "ten"), &got, NULL), ERR_OK);
    assert_int_equal(got.n, 10);
    assert_int_equal(fs_read(in(bed, "ten"), &got, NULL), ERR_LIMIT);
    assert_int_equal(got.n, 10);
    str_release(&got);
}

static void read_what_is_no_file(void **state)
{
    struct bed *bed = *state;
    struct str got = STR_INIT(10);

    assert_int_equal(fs_read(in(bed, "none"), &got, &bed->err), ERR_NOTFOUND);
    assert_int_equal(fs_read(bed->dir, &got, &bed->err), ERR_CONFIG);
    assert_int_equal(fs_read("/dev/zero", &got, &bed->err), ERR_CONFIG);
    str_release(&got);
}

static void mkdirs_makes_parents(void **state)
{
    struct bed *bed = *state;
    char *before = getcwd(NULL, 0);

    assert_int_equal(fs_mkdirs(in(bed, "a//b/c/"), NULL), ERR_OK);
    assert_true(fs_exists(in(bed, "a/b/c")));
    assert_int_equal(fs_mkdirs(in(bed, "a/b/c"), NULL), ERR_OK);
    put(bed, "a/file", "", 0600);
    assert_int_equal(fs_mkdirs(in(bed, "a/file/d"), &bed->err), ERR_IO);
    assert_non_null(strstr(bed->err.msg, "a file is there"));
    assert_int_equal(chdir(bed->dir), 0);
    assert_int_equal(fs_mkdirs("rel/ative", NULL), ERR_OK);
    assert_int_equal(chdir(before), 0);
    assert_true(fs_exists(in(bed, "rel/ative")));
    assert_int_equal(fs_mkdirs("/", NULL), ERR_OK);
    free(before);
}

/* Nobody ever opens the other end: opening it to read in the usual way would wait for that. */
static void a_pipe_is_no_file(void **state)
{
    struct bed *bed = *state;
    struct str got = STR_INIT(100);

    assert_int_equal(mkfifo(in(bed, "pipe"), 0600), 0);
    assert_int_equal(fs_read(in(bed, "pipe"), &got, &bed->err), ERR_CONFIG);
    assert_non_null(strstr(bed->err.msg, "not a file"));
    assert_int_equal(fs_read_secret(in(bed, "pipe"), &got, &bed->err), ERR_CONFIG);
    assert_int_equal(got.n, 0);
    str_release(&got);
}

static void pread_and_write(void **state)
{
    struct bed *bed = *state;
    char got[4] = "";
    int fd = open(in(bed, "file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    assert_int_equal(fs_write_all(fd, "0123456789", 10, NULL), ERR_OK);
    assert_int_equal(fs_pread_all(fd, got, 3, 4, NULL), ERR_OK);
    assert_memory_equal(got, "456", 3);
    assert_int_equal(fs_pread_all(fd, got, 3, 8, &bed->err), ERR_IO);
    assert_non_null(strstr(bed->err.msg, "early"));
    (void)close(fd);
    assert_int_equal(fs_write_all(fd, "x", 1, &bed->err), ERR_IO);
    assert_int_equal(bed->err.sys, EBADF);
    fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(fs_write_all(fd, "x", 1, NULL), ERR_NOSPACE);
    (void)close(fd);
}

static void joins_and_folders(void **state)
{
    static const struct {
        const char *dir, *name, *joined;
    } joins[] = {
        {"a", "b", "a/b"},     {"a/", "b", "a/b"}, {NULL, "b", "b"},
        {"a", "/b/c", "/b/c"}, {"/", "b", "/b"},   {"", "b", "b"},
    };
    static const char *const dirs[][2] = {
        {"a/b", "a"}, {"a", "."}, {"/a", "/"},     {"/", "/"},
        {"a/", "."},  {"", "."},  {"/a/b/", "/a"}, {"a//b", "a"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof joins / sizeof joins[0]; i++) {
        char *got = fs_join(joins[i].dir, joins[i].name);

        assert_string_equal(got, joins[i].joined);
        free(got);
    }
    for (i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        char *got = fs_dirname(dirs[i][0]);

        assert_string_equal(got, dirs[i][1]);
        free(got);
    }
}

static void secret_is_trimmed(void **state)
{
    struct bed *bed = *state;
    struct str got = STR_INIT(100);

    put(bed, "key", " \t0123456789abcdef \r\n", 0400);
    str_put(&got, "an older one");
    assert_int_equal(fs_read_secret(in(bed, "key"), &got, &bed->err), ERR_OK);
    assert_string_equal(str_cstr(&got), "0123456789abcdef");
    str_release(&got);
}

static void secret_that_others_may_read(void **state)
{
    static const mode_t modes[] = {0640, 0604, 0620, 0601, 0644};
    struct bed *bed = *state;
    struct str got = STR_INIT(100);
    size_t i;

    for (i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        put(bed, "key", "0123456789abcdef", modes[i]);
        assert_int_equal(fs_read_secret(in(bed, "key"), &got, &bed->err), ERR_AUTH);
        assert_int_equal(got.n, 0);
    }
    assert_non_null(strstr(bed->err.msg, "0644"));
    assert_null(strstr(bed->err.msg, "0123456789"));
    str_release(&got);
}

static void secret_that_is_none(void **state)
{
    struct bed *bed = *state;
    struct str got = STR_INIT(20);

    assert_int_equal(fs_read_secret(in(bed, "none"), &got, &bed->err), ERR_NOTFOUND);
    put(bed, "short", "0123456789abcde\n\n\n\n", 0600);
    assert_int_equal(fs_read_secret(in(bed, "short"), &got, &bed->err), ERR_CONFIG);
    put(bed, "long", "0123456789abcdef01234", 0600);
    str_put(&got, "kept");
    assert_int_equal(fs_read_secret(in(bed, "long"), &got, &bed->err), ERR_LIMIT);
    assert_string_equal(str_cstr(&got), "kept");
    assert_int_equal(fs_read_secret(bed->dir, &got, &bed->err), ERR_CONFIG);
    str_release(&got);
}

static void lock_is_exclusive_until_closed(void **state)
{
    struct bed *bed = *state;
    int first = -1, second = -1;

    assert_int_equal(fs_lock(in(bed, "lock"), &first, NULL), ERR_OK);
    assert_int_equal(fs_lock(in(bed, "lock"), &second, &bed->err), ERR_EXISTS);
    assert_int_equal(second, -1);
    (void)close(first);
    assert_int_equal(fs_lock(in(bed, "lock"), &second, NULL), ERR_OK);
    (void)close(second);
    assert_int_equal(fs_lock(in(bed, "no/lock"), &second, &bed->err), ERR_NOTFOUND);
}

#define BED_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BED_TEST(replace_then_read),
        BED_TEST(replace_in_a_missing_folder),
        BED_TEST(replace_keeps_the_old_file_when_it_fails),
        BED_TEST(read_stops_at_the_limit),
        BED_TEST(read_what_is_no_file),
        BED_TEST(a_pipe_is_no_file),
        BED_TEST(mkdirs_makes_parents),
        BED_TEST(pread_and_write),
        cmocka_unit_test(joins_and_folders),
        BED_TEST(secret_is_trimmed),
        BED_TEST(secret_that_others_may_read),
        BED_TEST(secret_that_is_none),
        BED_TEST(lock_is_exclusive_until_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
