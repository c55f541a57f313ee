#include "web/assets.h"

#include "web/files.h"

#include <stdbool.h>
#include <string.h>

const char web_content_security_policy[] =
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

static const struct web_asset *asset_named(const char *path)
{
    for (size_t i = 0; i < web_files_count; i++)
        if (strcmp(web_files[i].path, path) == 0)
            return &web_files[i];
    return NULL;
}

static bool is_page(const char *path)
{
    const char *first = path + 1;
    size_t n = strcspn(first, "/");

    if (n == 3 && memcmp(first, "src", 3) == 0)
        return false;
    return memchr(first, '.', n) == NULL;
}

const struct web_asset *web_asset_find(const char *path)
{
    const struct web_asset *asset;

    if (path[0] != '/')
        return NULL;
    asset = asset_named(path);
    if (asset)
        return asset;
    return is_page(path) ? asset_named("/index.html") : NULL;
}
