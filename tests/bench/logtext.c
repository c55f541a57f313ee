#include "tests/bench/logtext.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {
    "core",  "util",  "net",   "http",  "json",  "yaml",  "store", "queue", "sched",
    "slave", "owner", "proto", "log",   "chunk", "index", "cache", "parse", "lexer",
    "token", "ast",   "emit",  "page",  "tree",  "hash",  "list",  "ring",  "buffer",
    "zip",   "crc",   "clock", "poll",  "loop",  "tcp",   "user",  "role",  "rule",
    "hook",  "diff",  "patch", "merge", "repo",  "branch"};
static const char *const types[] = {"int",           "size_t",   "const char *",
                                    "struct node *", "uint64_t", "unsigned int"};
static const char *const flags[] = {"-Wunused-variable", "-Wsign-compare", "-Wunused-parameter",
                                    "-Wformat=", "-Wconversion"};

#define PICK(text, list) ((list)[below(text, sizeof(list) / sizeof(list)[0])])

/* xorshift64* */
static uint64_t next_random(struct logtext *text)
{
    text->random ^= text->random >> 12;
    text->random ^= text->random << 25;
    text->random ^= text->random >> 27;
    return text->random * UINT64_C(2685821657736338717);
}

static unsigned below(struct logtext *text, size_t n)
{
    return (unsigned)((next_random(text) >> 32) % n);
}

void logtext_init(struct logtext *text, uint64_t seed)
{
    *text = (struct logtext){.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
}

static int put_compile(struct logtext *text, char *out)
{
    const char *folder = PICK(text, words);
    const char *first = PICK(text, words);
    const char *second = PICK(text, words);

    return snprintf(out, LOGTEXT_UNIT_MAX,
                    "[%5" PRIu64 "/92000] cc -O2 -g -Wall -Wextra -Isrc -Iinclude -DVERSION=%u "
                    "-c src/%s/%s_%s.c -o build/obj/%s/%s_%s.o\n",
                    text->unit % 92000, below(text, 100), folder, first, second, folder, first,
                    second);
}

static int put_warning(struct logtext *text, char *out)
{
    const char *folder = PICK(text, words);
    const char *file = PICK(text, words);
    unsigned line = 1 + below(text, 3000);

    return snprintf(out, LOGTEXT_UNIT_MAX,
                    "src/%s/%s.c:%u:%u: warning: comparison of '%s' and '%s' in '%s' [%s]\n"
                    "%5u |         if (%s->%s < %s[%u].%s)\n"
                    "      |         %*s^~~~~~~~~~~~\n",
                    folder, file, line, 1 + below(text, 80), PICK(text, types), PICK(text, types),
                    PICK(text, words), PICK(text, flags), line, PICK(text, words),
                    PICK(text, words), PICK(text, words), below(text, 64), PICK(text, words),
                    (int)below(text, 30), "");
}

static int put_test(struct logtext *text, char *out)
{
    return snprintf(
        out, LOGTEXT_UNIT_MAX,
        "test %4" PRIu64 ": %s_%s_%-24s OK %4u.%03u ms  rss=%u KiB seed=%08" PRIx64 "\n",
        text->unit % 9000, PICK(text, words), PICK(text, words), PICK(text, words),
        below(text, 900), below(text, 1000), 2000 + below(text, 88000), next_random(text) >> 32);
}

size_t logtext_next(struct logtext *text, char out[LOGTEXT_UNIT_MAX])
{
    unsigned kind = below(text, 100);
    int n;

    text->unit++;
    if (kind < 65)
        n = put_compile(text, out);
    else if (kind < 88)
        n = put_warning(text, out);
    else
        n = put_test(text, out);
    return (size_t)n;
}

void logtext_fill(struct logtext *text, char *out, size_t n)
{
    char unit[LOGTEXT_UNIT_MAX];
    size_t done = 0;

    while (done < n) {
        size_t got = logtext_next(text, unit);
        size_t part = got < n - done ? got : n - done;

        memcpy(out + done, unit, part);
        done += part;
    }
    if (n > 0)
        out[n - 1] = '\n';
}
