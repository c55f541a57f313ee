#include "master/http/framing.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Other headers that something is decided by, and that may stand once only. */
static const char *const once[FRAMING_ONCE] = {"Content-Type", "Authorization", "Origin",
                                               "Idempotency-Key", "Range"};

static bool is_token(const char *name)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    const char *p = name;

    for (; *p; p++) {
        bool good = (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') ||
                    (*p >= 'A' && *p <= 'Z') || strchr(marks, *p);

        if (!good)
            return false;
    }
    return p != name;
}

static bool read_length(const char *value, uint64_t *out)
{
    uint64_t sum = 0;

    if (*value == '\0' || strlen(value) > 18 || value[strspn(value, "0123456789")] != '\0')
        return false;
    for (; *value; value++)
        sum = sum * 10 + (uint64_t)(*value - '0');
    *out = sum;
    return true;
}

static void count_once(struct framing *framing, const char *name)
{
    for (size_t i = 0; i < FRAMING_ONCE; i++) {
        if (strcasecmp(name, once[i]) == 0 && ++framing->seen[i] > 1)
            framing->doubled = true;
    }
}

void framing_add(struct framing *framing, const char *name, const char *value)
{
    if (!is_token(name)) {
        framing->bad_name = true;
    } else if (strcasecmp(name, "Content-Length") == 0) {
        framing->lengths++;
        framing->bad_length |= !read_length(value, &framing->length);
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        framing->codings++;
        framing->bad_coding |= strcasecmp(value, "chunked") != 0;
    } else if (strcasecmp(name, "Host") == 0) {
        framing->hosts++;
        framing->bad_host |= value[strcspn(value, " \t,/@?#\\")] != '\0';
    } else if (strcasecmp(name, "Expect") == 0) {
        framing->expect = true;
    }
    count_once(framing, name);
}

const char *framing_fault(const struct framing *framing, bool needs_host)
{
    if (framing->bad_name)
        return "a header name has characters that no name may have";
    if (framing->lengths > 1)
        return "Content-Length was sent twice";
    if (framing->lengths && framing->codings)
        return "Content-Length and Transfer-Encoding were sent together";
    if (framing->bad_length)
        return "Content-Length is not a number";
    if (framing->codings > 1 || framing->bad_coding)
        return "Transfer-Encoding is not chunked";
    if (framing->hosts > 1 || framing->bad_host)
        return "Host is not one host and port";
    if (needs_host && framing->hosts == 0)
        return "Host is missing";
    return framing->doubled ? "a header was sent twice that may stand once" : NULL;
}
