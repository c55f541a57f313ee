#include "proto/spot.h"

#include <stdio.h>

#include "common/base/str.h"

enum { SPOT_TEXT_MAX = 256 }; /* names are ours and short, and depth is at most four */

static void put_place(const struct spot *spot, struct str *out)
{
    if (spot->up)
        put_place(spot->up, out);
    if (!spot->name)
        str_printf(out, "[%zu]", spot->index);
    else
        str_printf(out, "%s%s", spot->up ? "." : "", spot->name);
}

enum err_code spot_refuse(const struct spot *spot, enum err_code code, struct err *err,
                          const char *fmt, ...)
{
    struct str place = STR_INIT(SPOT_TEXT_MAX);
    char what[ERR_MSG_MAX - SPOT_TEXT_MAX];
    va_list args;

    put_place(spot, &place);
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    (void)err_set(err, code, "%s: %s", str_cstr(&place), what);
    str_release(&place);
    return code;
}
