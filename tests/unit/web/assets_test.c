#include "web/assets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { FILE_MAX = 256 * 1024 };

/* An embedded file is byte for byte the one in the tree. */
static void assert_same_as_source(const char *url, const char *name)
{
    static unsigned char bytes[FILE_MAX];
    const struct web_asset *asset = web_asset_find(url);
    char path[1024];
    size_t n;
    FILE *f;

    assert_non_null(asset);
    snprintf(path, sizeof(path), "%s/web/%s", SOURCE_ROOT, name);
    f = fopen(path, "rb");
    assert_non_null(f);
    n = fread(bytes, 1, sizeof(bytes), f);
    fclose(f);
    assert_int_equal(asset->n, n);
    assert_memory_equal(asset->bytes, bytes, n);
}

static void files_are_embedded_as_they_are(void **state)
{
    (void)state;
    assert_same_as_source("/index.html", "index.html");
    assert_same_as_source("/style.css", "style.css");
    assert_same_as_source("/icon.svg", "icon.svg");
    assert_same_as_source("/src/main.js", "src/main.js");
    assert_same_as_source("/src/pages/build.js", "src/pages/build.js");
}

static void types_and_etags(void **state)
{
    const struct web_asset *script = web_asset_find("/src/main.js");
    const struct web_asset *style = web_asset_find("/style.css");

    (void)state;
    assert_string_equal(script->type, "text/javascript; charset=utf-8");
    assert_string_equal(style->type, "text/css; charset=utf-8");
    assert_string_equal(web_asset_find("/")->type, "text/html; charset=utf-8");
    assert_string_equal(web_asset_find("/icon.svg")->type, "image/svg+xml");
    assert_string_not_equal(script->etag, style->etag);
    assert_true(script->etag[0] == '"' && script->etag[strlen(script->etag) - 1] == '"');
}

static void page_addresses_give_the_page(void **state)
{
    static const char *const pages[] = {
        "/",     "/queue", "/builds/12/steps/3", "/builders/release-1.2", "/slaves/a.example.org",
        "/srcs",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
        assert_string_equal(web_asset_find(pages[i])->path, "/index.html");
}

static void other_paths_give_nothing(void **state)
{
    static const char *const paths[] = {
        "", "index.html", "/favicon.ico", "/src", "/src/", "/src/gone.js", "/style.css/", "/../x",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        assert_null(web_asset_find(paths[i]));
}

/* Finds the next `import ... from './x.js'` line of a module; false when there is none. */
static const char *next_import(const char *at, const char *end, char *name, size_t max)
{
    static const char mark[] = " from '";
    const char *start = memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1);
    const char *close;

    if (!start)
        return NULL;
    start += sizeof(mark) - 1;
    close = memchr(start, '\'', (size_t)(end - start));
    assert_non_null(close);
    snprintf(name, max, "%.*s", (int)(close - start), start);
    return close;
}

/* A module that is imported but was left out of the list in CMakeLists.txt would only fail in a
 * browser. */
static void walk_imports(const char *dir, const char *path, int depth)
{
    const struct web_asset *asset = web_asset_find(path);
    const char *at, *end;
    char name[128], target[512];

    if (!asset)
        fail_msg("%s is imported and not embedded", path);
    if (depth == 0)
        return;
    at = (const char *)asset->bytes;
    end = at + asset->n;
    while ((at = next_import(at, end, name, sizeof(name)))) {
        if (strncmp(name, "../", 3) == 0)
            snprintf(target, sizeof(target), "/src/%s", name + 3);
        else if (strncmp(name, "./pages/", 8) == 0)
            snprintf(target, sizeof(target), "/src/pages/%s", name + 8);
        else
            snprintf(target, sizeof(target), "%s/%s", dir, name + 2);
        walk_imports(strstr(target, "/pages/") ? "/src/pages" : "/src", target, depth - 1);
    }
}

static void every_import_is_embedded(void **state)
{
    (void)state;
    walk_imports("/src", "/src/main.js", 4);
}

static void policy_allows_nothing_inline(void **state)
{
    (void)state;
    assert_non_null(strstr(web_content_security_policy, "default-src 'self'"));
    assert_null(strstr(web_content_security_policy, "unsafe"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_embedded_as_they_are),
        cmocka_unit_test(types_and_etags),
        cmocka_unit_test(page_addresses_give_the_page),
        cmocka_unit_test(other_paths_give_nothing),
        cmocka_unit_test(every_import_is_embedded),
        cmocka_unit_test(policy_allows_nothing_inline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
