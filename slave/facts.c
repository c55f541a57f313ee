#include "slave/facts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/io/fsx.h"

enum { FACTS_FILE_MAX = 1 << 20 };

static struct view trim(struct view text)
{
    while (text.n > 0 && isspace((unsigned char)text.p[0])) {
        text.p++;
        text.n--;
    }
    while (text.n > 0 && isspace((unsigned char)text.p[text.n - 1]))
        text.n--;
    return text;
}

static struct view unquote(struct view text)
{
    char quote = text.n >= 2 ? text.p[0] : '\0';

    if ((quote == '"' || quote == '\'') && text.p[text.n - 1] == quote)
        return view_bytes(text.p + 1, text.n - 2);
    return text;
}

/* Takes the next line out of *text. */
static bool next_line(struct view *text, struct view *line)
{
    const char *end;

    if (text->n == 0)
        return false;
    end = memchr(text->p, '\n', text->n);
    line->p = text->p;
    line->n = end ? (size_t)(end - text->p) : text->n;
    text->p += line->n + (end ? 1 : 0);
    text->n -= line->n + (end ? 1 : 0);
    return true;
}

/* The value of the first line whose part before the separator is key; empty when there is none. */
static struct view find_value(struct view text, const char *key, char separator)
{
    struct view line;

    while (next_line(&text, &line)) {
        const char *at = memchr(line.p, separator, line.n);

        if (!at || !view_is(trim(view_bytes(line.p, (size_t)(at - line.p))), key))
            continue;
        return trim(view_bytes(at + 1, line.n - (size_t)(at - line.p) - 1));
    }
    return VIEW_NULL;
}

static void set_text(char *out, size_t size, struct view text)
{
    size_t n = text.n < size ? text.n : size - 1;

    if (n)
        memcpy(out, text.p, n);
    out[n] = '\0';
}

void facts_os_release(struct view text, const char *key, char *out, size_t size)
{
    set_text(out, size, unquote(find_value(text, key, '=')));
}

void facts_cpuinfo(struct view text, const char *key, char *out, size_t size)
{
    set_text(out, size, find_value(text, key, ':'));
}

static void read_os(struct facts *facts)
{
    struct str text = STR_INIT(FACTS_FILE_MAX);
    struct utsname uts;
    bool known = uname(&uts) == 0;

    if (fs_read("/etc/os-release", &text, NULL) == ERR_OK)
        facts_os_release(str_view(&text), "PRETTY_NAME", facts->os, sizeof facts->os);
    if (known && facts->os[0] == '\0')
        set_text(facts->os, sizeof facts->os, view_of(uts.sysname));
    if (known)
        set_text(facts->arch, sizeof facts->arch, view_of(uts.machine));
    str_release(&text);
}

static void read_cpu(struct facts *facts)
{
    static const char *const keys[] = {"model name", "Model", "cpu model", "Processor"};
    struct str text = STR_INIT(FACTS_FILE_MAX);
    size_t i;

    if (fs_read("/proc/cpuinfo", &text, NULL) == ERR_OK)
        for (i = 0; i < sizeof keys / sizeof *keys && facts->cpu_model[0] == '\0'; i++)
            facts_cpuinfo(str_view(&text), keys[i], facts->cpu_model, sizeof facts->cpu_model);
    str_release(&text);
}

static void read_boot(struct facts *facts)
{
    struct str text = STR_INIT(FACTS_FILE_MAX);

    if (fs_read("/proc/sys/kernel/random/boot_id", &text, NULL) == ERR_OK)
        set_text(facts->machine_boot, sizeof facts->machine_boot, trim(str_view(&text)));
    str_release(&text);
}

void facts_read(struct facts *facts)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);

    *facts = (struct facts){0};
    read_os(facts);
    read_cpu(facts);
    read_boot(facts);
    if (cores > 0)
        facts->cores = (uint32_t)cores;
    if (pages > 0 && page_bytes > 0)
        facts->memory_bytes = (uint64_t)pages * (uint64_t)page_bytes;
}
