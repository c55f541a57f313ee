#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/json_in.h"
#include "common/base/log.h"

struct caught {
    struct str text;
    enum log_level level;
    int records;
};

static void catch (void *arg, enum log_level level, struct view line)
{
    struct caught *c = arg;

    str_clear(&c->text);
    str_put_view(&c->text, line);
    c->level = level;
    c->records++;
}

static void setup_as(const char *format)
{
    struct err err = ERR_INIT;

    assert_int_equal(log_setup(format, LOG_LEVEL_INFO, &err), ERR_OK);
}

static int set_up(void **state)
{
    struct caught *c = calloc(1, sizeof *c);

    c->text = (struct str)STR_INIT(1 << 20);
    *state = c;
    log_set_sink(catch, c);
    setup_as("text");
    return 0;
}

static int tear_down(void **state)
{
    struct caught *c = *state;

    log_set_sink(NULL, NULL);
    str_release(&c->text);
    free(c);
    (void)unsetenv("JOURNAL_STREAM");
    return 0;
}

/* The record without its time, which must be there. */
static const char *after_time(const struct caught *c)
{
    const char *line = str_cstr(&c->text);

    assert_true(c->text.n > 25);
    assert_int_equal(line[10], 'T');
    assert_memory_equal(line + 23, "Z ", 2);
    return line + 25;
}

static void text_records(void **state)
{
    struct caught *c = *state;

    log_info("build.finished", LOG_ID("build", 12), LOG_INT("exit", -1), LOG_MS("took", 1204),
             LOG_BYTES("log", 4096), LOG_STR("by", "me"));
    assert_string_equal(after_time(c),
                        "INFO build.finished build=12 exit=-1 took=1.204s log=4096B by=me");
    log_warn("alone");
    assert_string_equal(after_time(c), "WARN alone");
    assert_int_equal(c->level, LOG_LEVEL_WARN);
    log_error("e", LOG_MS("a", 5), LOG_MS("b", -1500), LOG_INT(NULL, 7), LOG_STR("c", NULL));
    assert_string_equal(after_time(c), "ERROR e a=0.005s b=-1.500s c=\"\"");
}

static void hostile_strings_stay_one_value(void **state)
{
    struct caught *c = *state;

    log_info("x", LOG_STR("s", "a b"), LOG_STR("t", "a\nERROR forged"), LOG_STR("u", "q\" v=\"1"));
    assert_string_equal(after_time(c),
                        "INFO x s=\"a b\" t=\"a\\x0aERROR forged\" u=\"q\\\" v=\\\"1\"");
    log_info("x", LOG_STR("s", "back\\"), LOG_VIEW("t", view_bytes("a\0b", 3)),
             LOG_STR("u", "\xff\x1b[0m"), LOG_STR("v", "caf\xc3\xa9"), LOG_STR("w", "k=v"));
    assert_string_equal(after_time(c), "INFO x s=\"back\\\\\" t=\"a\\x00b\" u=\"\\xff\\x1b[0m\" "
                                       "v=\"caf\xc3\xa9\" w=\"k=v\"");
}

static void long_strings_are_cut(void **state)
{
    struct caught *c = *state;
    static char lots[100000];

    memset(lots, 'x', sizeof lots);
    log_info("x", LOG_VIEW("s", view_bytes(lots, sizeof lots)), LOG_INT("n", 1));
    assert_int_equal(c->text.n, 25 + strlen("INFO x s=") + LOG_TEXT_MAX + strlen("... n=1"));
    memset(lots, 0xff, sizeof lots);
    log_info("x", LOG_VIEW("s", view_bytes(lots, sizeof lots)));
    assert_int_equal(c->text.n, 25 + strlen("INFO x s=\"\"") + 4 * LOG_TEXT_MAX + strlen("..."));
}

static void json_records(void **state)
{
    struct caught *c = *state;
    struct json *d = NULL;
    struct err err = ERR_INIT;

    setup_as("json");
    log_warn("build.finished", LOG_ID("build", 12), LOG_MS("took", 1204), LOG_MS("wait_ms", 1),
             LOG_BYTES("log", 4096), LOG_STR("why", "a\"\n\xff"), LOG_INT(NULL, 1));
    assert_int_equal(json_parse(str_view(&c->text), &d, &err), ERR_OK);
    assert_string_equal(json_get_text(d, "level"), "warn");
    assert_string_equal(json_get_text(d, "event"), "build.finished");
    assert_int_equal(strlen(json_get_text(d, "time")), 24);
    assert_int_equal(json_get_int(d, "build", 0), 12);
    assert_int_equal(json_get_int(d, "took_ms", 0), 1204);
    assert_int_equal(json_get_int(d, "wait_ms", 0), 1);
    assert_int_equal(json_get_int(d, "log_bytes", 0), 4096);
    assert_string_equal(json_get_text(d, "why"), "a\"\n\xef\xbf\xbd");
    json_free(d);
}

static void levels_and_errno(void **state)
{
    struct caught *c = *state;

    log_debug("hidden");
    assert_int_equal(c->records, 0);
    log_set_level(LOG_LEVEL_DEBUG);
    log_debug("seen");
    assert_int_equal(c->records, 1);
    log_set_level(LOG_LEVEL_ERROR);
    log_warn("hidden");
    assert_int_equal(c->records, 1);
    errno = ENOENT;
    log_error("seen");
    assert_int_equal(errno, ENOENT);
    assert_int_equal(c->records, 2);
}

static void unknown_formats_are_refused(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(log_setup("xml", LOG_LEVEL_INFO, &err), ERR_CONFIG);
    assert_string_equal(err.msg, "unknown log format 'xml': expected text or json");
}

static void the_journal_gets_priorities(void **state)
{
    struct caught *c = *state;
    char stream[64];
    struct stat st;

    assert_int_equal(fstat(STDERR_FILENO, &st), 0);
    (void)snprintf(stream, sizeof stream, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
    setup_as("text");
    log_error("e");
    assert_string_equal(str_cstr(&c->text), "<3>ERROR e");
    log_warn("w");
    assert_string_equal(str_cstr(&c->text), "<4>WARN w");
    log_info("i");
    assert_string_equal(str_cstr(&c->text), "<6>INFO i");
    /* Inherited, but standard error has been sent elsewhere. */
    assert_int_equal(setenv("JOURNAL_STREAM", "1:1", 1), 0);
    setup_as("text");
    log_info("i");
    assert_string_equal(after_time(c), "INFO i");
}

static void *chatter(void *arg)
{
    for (int i = 0; i < 200; i++)
        log_info("thread", LOG_STR("who", arg), LOG_INT("i", i));
    return NULL;
}

/* Through a pipe in place of standard error: every record comes whole, from any thread. */
static void records_from_threads_do_not_mix(void **state)
{
    static char text[1 << 16];
    pthread_t threads[3];
    int ends[2];
    int saved = dup(STDERR_FILENO);
    size_t n = 0;
    size_t lines = 0;
    ssize_t got;

    (void)state;
    log_set_sink(NULL, NULL);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    (void)close(ends[1]);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, chatter, "somebody"), 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    (void)close(saved);
    while ((got = read(ends[0], text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    (void)close(ends[0]);
    text[n] = '\0';
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1, lines++) {
        int number = -1;

        *end = '\0';
        assert_int_equal(sscanf(line + 25, "INFO thread who=somebody i=%d", &number), 1);
        assert_in_range(number, 0, 199);
    }
    assert_int_equal(lines, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(text_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_strings_stay_one_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_strings_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(levels_and_errno, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_formats_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_journal_gets_priorities, set_up, tear_down),
        cmocka_unit_test_setup_teardown(records_from_threads_do_not_mix, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
