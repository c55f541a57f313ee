#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/io/notifyd.h"

static int bound_socket(const char *path, size_t n)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    memcpy(addr.sun_path, path, n);
    assert_int_equal(
        bind(fd, (struct sockaddr *)&addr, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)),
        0);
    return fd;
}

static void expect_message(int fd, const char *text)
{
    char got[64];
    ssize_t n = recv(fd, got, sizeof got, 0);

    assert_int_equal(n, strlen(text));
    assert_memory_equal(got, text, strlen(text));
    assert_int_equal(recv(fd, got, sizeof got, 0), -1);
    assert_int_equal(errno, EAGAIN);
}

static void sends_one_datagram(void **state)
{
    char dir[] = "/tmp/tailrace-notify-XXXXXX";
    char path[64];
    int fd;

    (void)state;
    assert_non_null(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/socket", dir);
    fd = bound_socket(path, strlen(path));
    assert_int_equal(setenv("NOTIFY_SOCKET", path, 1), 0);
    notifyd_send("READY=1");
    expect_message(fd, "READY=1");
    notifyd_send("STATUS=3 builds");
    expect_message(fd, "STATUS=3 builds");
    (void)close(fd);
    (void)unlink(path);
    (void)rmdir(dir);
}

static void knows_abstract_names(void **state)
{
    char name[64];
    int fd;

    (void)state;
    (void)snprintf(name, sizeof name, "@tailrace-notify-%d", (int)getpid());
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    name[0] = '\0';
    fd = bound_socket(name, 1 + strlen(name + 1));
    notifyd_send("STOPPING=1");
    expect_message(fd, "STOPPING=1");
    (void)close(fd);
}

static void count_line(void *arg, enum log_level level, struct view line)
{
    (void)level;
    (void)line;
    ++*(int *)arg;
}

static void failure_is_only_logged(void **state)
{
    char longer[200];
    int lines = 0;

    (void)state;
    log_set_sink(count_line, &lines);
    assert_int_equal(setenv("NOTIFY_SOCKET", "/nowhere/socket", 1), 0);
    notifyd_send("READY=1");
    assert_int_equal(lines, 1);
    assert_int_equal(unsetenv("NOTIFY_SOCKET"), 0);
    notifyd_send("READY=1");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(setenv("NOTIFY_SOCKET", longer, 1), 0);
    notifyd_send("READY=1");
    assert_int_equal(lines, 1);
    log_set_sink(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_one_datagram),
        cmocka_unit_test(knows_abstract_names),
        cmocka_unit_test(failure_is_only_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
