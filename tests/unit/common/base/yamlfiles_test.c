#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/base/clock.h"
#include "common/base/json_in.h"
#include "common/base/yamltree.h"

enum { FILE_MAX = 1 << 20 };

static void read_file(const char *name, struct str *out)
{
    char path[1024];
    FILE *f;

    *out = (struct str)STR_INIT(FILE_MAX);
    (void)snprintf(path, sizeof path, TEST_DATA "/yaml/%s", name);
    f = fopen(path, "rb");
    if (!f)
        fail_msg("no file %s", path);
    str_grew(out, fread(str_room(out, FILE_MAX), 1, FILE_MAX, f));
    assert_int_equal(fclose(f), 0);
}

/* "name:line:column: sentence" */
static void assert_has_place(const char *error, const char *name)
{
    size_t n = strlen(name);
    unsigned line = 0;
    unsigned column = 0;
    int end = 0;

    assert_memory_equal(error, name, n);
    if (sscanf(error + n, ":%u:%u: %n", &line, &column, &end) != 2 || end == 0 ||
        !error[n + (size_t)end])
        fail_msg("no place: %s", error);
    assert_true(line > 0 && column > 0);
}

static long peak_kib(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

static void check_file(const char *name)
{
    const struct clock *clock = clock_system();
    struct yaml_errors errors = {{NULL, 0, 0}, false};
    struct str text;
    struct yaml_tree *tree;
    uint64_t begin;
    long before;

    read_file(name, &text);
    before = peak_kib();
    begin = clock_mono_ms(clock);
    tree = yaml_parse(str_view(&text), name, &errors);
    assert_true(clock_mono_ms(clock) - begin < 5000);
    assert_true(peak_kib() - before < 64 << 10);
    if (!tree)
        assert_true(errors.v.n > 0);
    if (strstr(name, "-error") && errors.v.n == 0)
        fail_msg("%s was accepted", name);
    for (size_t i = 0; i < errors.v.n; i++)
        assert_has_place(errors.v.v[i], name);
    yaml_tree_free(tree);
    yaml_errors_release(&errors);
    str_release(&text);
}

static void every_file_parses_or_says_where_not(void **state)
{
    DIR *dir = opendir(TEST_DATA "/yaml");
    const struct dirent *entry;
    int n = 0;

    (void)state;
    assert_non_null(dir);
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' || strstr(entry->d_name, ".json") ||
            strstr(entry->d_name, ".md"))
            continue;
        check_file(entry->d_name);
        n++;
    }
    (void)closedir(dir);
    assert_true(n >= 40);
}

static void expected_answers(void **state)
{
    /* The first error, or NULL for none at all. */
    static const char *const table[][2] = {
        {"appveyor-cjson.yml", NULL},
        {"buildkite-agent-pipeline.yml", NULL},
        {"circleci-treeherder.yml", NULL},
        {"github-jq-ci.yml", NULL},
        {"travis-hiredis.yml", NULL},
        {"woodpecker-docker.yaml", NULL},
        {"pyyaml-construct-merge.data", NULL},
        {"pyyaml-utf16le.data", NULL},
        {"cirrus-docs.yml", ":26:1: duplicate key 'task': already given at line 18, column 1"},
        {"gitlab-opus.yml", ":64:7: tag '!reference' has no meaning here: expected none"},
        {"4EJS.ERR.in.yaml", ":3:1: a tab in the indentation: expected spaces"},
        {"pyyaml-duplicate-key.former-loader-error.data",
         ":3:1: duplicate key 'foo': already given at line 2, column 1"},
        {"pyyaml-unacceptable-key.loader-error", ":2:3: a list as a key: expected text"},
        {"pyyaml-odd-utf16.stream-error", ":10:64: half a character: expected UTF-16 text"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct yaml_errors errors = {{NULL, 0, 0}, false};
        struct str text;
        struct yaml_tree *tree;

        read_file(table[i][0], &text);
        tree = yaml_parse(str_view(&text), "", &errors);
        if (table[i][1])
            assert_string_equal(errors.v.n ? errors.v.v[0] : "none", table[i][1]);
        else
            assert_string_equal(errors.v.n ? errors.v.v[0] : "none", "none");
        yaml_tree_free(tree);
        yaml_errors_release(&errors);
        str_release(&text);
    }
}

/* Whether node says what the JSON says. Numbers are texts here, so their text is read. */
static bool means(const struct yaml_node *node, const struct json *json)
{
    if (json_is_null(json))
        return node->kind == YAML_NULL;
    if (json_text(json))
        return node->kind == YAML_SCALAR && view_is(node->text, json_text(json));
    if (json_is_array(json)) {
        if (node->kind != YAML_LIST || node->n != json_len(json))
            return false;
        for (size_t i = 0; i < node->n; i++) {
            if (!means(node->entries[i].value, json_at(json, i)))
                return false;
        }
        return true;
    }
    if (json_is_object(json)) {
        size_t n = 0;

        for (void *i = json_first(json); i; i = json_next(json, i), n++) {
            const struct yaml_node *value = yaml_get(node, json_iter_key(i));

            if (!value || !means(value, json_iter_value(i)))
                return false;
        }
        return node->kind == YAML_MAP && node->n == n;
    }
    return node->kind == YAML_SCALAR && strtod(node->text.p, NULL) == json_number(json, -1);
}

static void files_mean_their_json(void **state)
{
    static const char *const ids[] = {"229Q", "8G76", "DWX9", "JEF9-00", "K858", "P76L", "UGM3"};

    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        struct yaml_errors errors = {{NULL, 0, 0}, false};
        struct err err = ERR_INIT;
        struct str yaml;
        struct str text;
        struct json *json = NULL;
        struct yaml_tree *tree;
        char name[64];

        (void)snprintf(name, sizeof name, "%s.in.yaml", ids[i]);
        read_file(name, &yaml);
        (void)snprintf(name, sizeof name, "%s.in.json", ids[i]);
        read_file(name, &text);
        if (text.n > 0 && json_parse(str_view(&text), &json, &err) != ERR_OK)
            fail_msg("%s: %s", name, err.msg);
        tree = yaml_parse(str_view(&yaml), name, &errors);
        assert_non_null(tree);
        if (!means(yaml_root(tree), json))
            fail_msg("%s means something else", name);
        yaml_tree_free(tree);
        yaml_errors_release(&errors);
        json_free(json);
        str_release(&yaml);
        str_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_parses_or_says_where_not),
        cmocka_unit_test(expected_answers),
        cmocka_unit_test(files_mean_their_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
