/*
 * print: what the terminal can do, styles, and writing all bytes to a descriptor. What came from
 * outside (branch names, authors, reasons) is made harmless here before a terminal sees it.
 */
#ifndef TAILRACE_CLIENT_PRINT_H
#define TAILRACE_CLIENT_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/err.h"
#include "common/base/str.h"

enum style {
    STYLE_PLAIN,
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_BUSY,
    STYLE_DIM,
    STYLE_BOLD,
};

enum { PRINT_MAX = 64 * 1024 * 1024, PRINT_CELL_MAX = 1024 };

/* Where text for people goes. */
struct term {
    int fd;
    bool tty;
    bool colour;    /* a terminal, and neither NO_COLOR nor TERM=dumb says otherwise */
    unsigned width; /* columns of a terminal; 0: as wide as the text */
    bool failed;    /* something could not be written, and the user has been told */
};

/* Looks at the descriptor and the environment. */
void term_init(struct term *term, int fd);
/* Looks at the width again: the user may have made the window smaller. */
void term_measure(struct term *term);

/* Appends text in the style, or bare without colour. */
void print_styled(struct str *out, bool colour, enum style style, const char *text);
/* Appends at most PRINT_CELL_MAX bytes of text from outside: control characters and bad UTF-8 as
 * \xNN. NULL appends "-". */
void print_clean(struct str *out, const char *text);
/* Columns that valid UTF-8 takes, a character being one column. */
size_t print_columns(struct view text);
/* The bytes of text that fit into so many columns. */
size_t print_fit(struct view text, size_t columns);
/* The same, but ends behind a word, when there is a space to break at; always at least one
 * character. */
size_t print_break(struct view text, size_t columns);

/* The style for a result, a build's or a slave's state. */
enum style print_style_of(const char *word);

/* Writes all of it. ERR_IO, err->sys says why (EPIPE: the reader has gone). */
enum err_code print_write(int fd, struct view bytes, struct err *err) TAILRACE_MUST_CHECK;
/* Writes text. The first failure is said and kept in term->failed; a reader that has gone is none.
 */
void term_write(struct term *term, const struct str *text);
/* "tailrace: sentence" on standard error; what it quotes is made harmless. */
void print_complain(const char *fmt, ...) TAILRACE_PRINTF(1, 2);

#endif
