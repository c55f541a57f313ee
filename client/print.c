#include "client/print.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/text.h"

enum { COMPLAINT_MAX = 4096 };

void term_measure(struct term *term)
{
    struct winsize size;

    term->width = 0;
    if (!term->tty)
        return;
    term->width = 80;
    if (ioctl(term->fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
        term->width = size.ws_col;
}

void term_init(struct term *term, int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *kind = getenv("TERM");

    *term = (struct term){.fd = fd, .tty = isatty(fd) == 1};
    term->colour = term->tty && !(no_color && *no_color) && !(kind && strcmp(kind, "dumb") == 0);
    term_measure(term);
}

void print_styled(struct str *out, bool colour, enum style style, const char *text)
{
    static const char *const codes[] = {
        [STYLE_PLAIN] = "",  [STYLE_GOOD] = "32", [STYLE_WARN] = "33", [STYLE_BAD] = "1;31",
        [STYLE_BUSY] = "36", [STYLE_DIM] = "2",   [STYLE_BOLD] = "1",
    };

    if (!colour || style == STYLE_PLAIN) {
        str_put(out, text);
        return;
    }
    str_printf(out, "\033[%sm", codes[style]);
    str_put(out, text);
    str_put(out, "\033[0m");
}

void print_clean(struct str *out, const char *text)
{
    if (!text)
        text = "-";
    text_escape(out, view_of(text), PRINT_CELL_MAX);
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t print_columns(struct view text)
{
    size_t columns = 0;

    for (size_t i = 0; i < text.n; i++)
        columns += !is_continuation(text.p[i]);
    return columns;
}

size_t print_fit(struct view text, size_t columns)
{
    size_t n = 0;

    while (n < text.n) {
        if (!is_continuation(text.p[n]) && columns-- == 0)
            break;
        n++;
    }
    return n;
}

size_t print_break(struct view text, size_t columns)
{
    size_t n = print_fit(text, columns ? columns : 1);
    size_t word = n;

    if (n == text.n)
        return n;
    while (word && text.p[word] != ' ')
        word--;
    while (word && text.p[word - 1] == ' ')
        word--;
    return word ? word : n;
}

enum style print_style_of(const char *word)
{
    static const struct {
        const char *word;
        enum style style;
    } styles[] = {
        {"success", STYLE_GOOD},    {"warnings", STYLE_WARN}, {"failure", STYLE_BAD},
        {"exception", STYLE_BAD},   {"cancelled", STYLE_DIM}, {"skipped", STYLE_DIM},
        {"waiting", STYLE_DIM},     {"queued", STYLE_PLAIN},  {"running", STYLE_BUSY},
        {"detached", STYLE_WARN},   {"offline", STYLE_BAD},   {"idle", STYLE_GOOD},
        {"busy", STYLE_BUSY},       {"draining", STYLE_WARN}, {"quarantined", STYLE_BAD},
        {"interrupted", STYLE_BAD}, {"paused", STYLE_WARN},
    };

    for (size_t i = 0; word && i < sizeof styles / sizeof styles[0]; i++)
        if (strcmp(styles[i].word, word) == 0)
            return styles[i].style;
    return STYLE_PLAIN;
}

enum err_code print_write(int fd, struct view bytes, struct err *err)
{
    while (bytes.n) {
        ssize_t n = write(fd, bytes.p, bytes.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set_sys(err, errno, "cannot write");
        bytes.p += n;
        bytes.n -= (size_t)n;
    }
    return ERR_OK;
}

void term_write(struct term *term, const struct str *text)
{
    struct err err = ERR_INIT;

    if (term->failed || print_write(term->fd, str_view(text), &err) == ERR_OK || err.sys == EPIPE)
        return;
    term->failed = true;
    print_complain("%s", err.msg);
}

void print_complain(const char *fmt, ...)
{
    char sentence[COMPLAINT_MAX];
    struct str clean = STR_INIT(8 * COMPLAINT_MAX);
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof sentence, fmt, args);
    va_end(args);
    text_escape(&clean, view_of(sentence), sizeof sentence);
    (void)fprintf(stderr, "tailrace: %s\n", str_cstr(&clean));
    str_release(&clean);
}
