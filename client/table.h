/*
 * table: rows of text under headings, aligned. Rows are added cell by cell; printing fits the table
 * into the terminal: less useful columns are left out, names shortened, sentences wrapped into more
 * lines. Pure: it prints into a str.
 *
 *     table_init(&t, columns, n); table_row(&t); table_cell(&t, STYLE_PLAIN, "12"); ...
 *     table_print(&t, width, colour, &out); table_release(&t);
 */
#ifndef TAILRACE_CLIENT_TABLE_H
#define TAILRACE_CLIENT_TABLE_H

#include <stdbool.h>

#include "client/print.h"
#include "common/base/str.h"
#include "common/base/vec.h"

/* What happens to a column when the table is wider than the terminal. */
enum table_fit {
    TABLE_WHOLE, /* stays as it is: numbers and words */
    TABLE_CUT,   /* a name: keeps its beginning and ends in "..." */
    TABLE_WRAP,  /* a sentence: goes on in the next line, nothing of it is lost */
};

struct table_column {
    const char *title;
    bool right; /* numbers */
    enum table_fit fit;
    unsigned drop; /* left out when there is no room, the highest first; 0: never */
};

struct table_text {
    char *text;
    enum style style;
};

struct table {
    const struct table_column *columns; /* borrowed */
    size_t columns_n;
    VEC(struct table_text) cells; /* row after row */
};

void table_init(struct table *table, const struct table_column *columns, size_t n);
void table_release(struct table *table);
/* Begins the next row; a row not filled has empty cells at its end. */
void table_row(struct table *table);
/* The next cell of the row. The text is copied and cleaned (print_clean): NULL shows "-". */
void table_cell(struct table *table, enum style style, const char *text);
void table_cell_i64(struct table *table, int64_t value);
/* Appends headings and rows to *out; width 0 is as wide as needed. A column in which every cell is
 * "-" or empty is left out. */
void table_print(struct table *table, unsigned width, bool colour, struct str *out);

#endif
