/* The table that embed.cmake writes; only assets.c looks at it. */
#ifndef TAILRACE_WEB_FILES_H
#define TAILRACE_WEB_FILES_H

#include "web/assets.h"

extern const struct web_asset web_files[];
extern const size_t web_files_count;

#endif
