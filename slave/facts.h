/*
 * facts: what HELLO says of the machine. Linux: from /etc/os-release, uname(2) and /proc; what
 * cannot be found stays empty or 0.
 */
#ifndef TAILRACE_SLAVE_FACTS_H
#define TAILRACE_SLAVE_FACTS_H

#include <stdint.h>

#include "common/base/str.h"

/* The sizes are those of HELLO's fields, and a NUL. */
struct facts {
    char os[65];
    char arch[65];
    char cpu_model[129];
    char machine_boot[65]; /* changes when the machine is booted */
    uint32_t cores;
    uint64_t memory_bytes;
};

void facts_read(struct facts *facts);

/* The value of a line "KEY=value" of os-release, quotes dropped; cut to size - 1 bytes. */
void facts_os_release(struct view text, const char *key, char *out, size_t size);
/* The value of the first line "key : value" of /proc/cpuinfo. */
void facts_cpuinfo(struct view text, const char *key, char *out, size_t size);

#endif
