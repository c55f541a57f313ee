#include "client/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_GAP = 2, TABLE_FLEXIBLE_MIN = 8, TABLE_COLUMNS_MAX = 16 };

void table_init(struct table *table, const struct table_column *columns, size_t n)
{
    assert(n > 0 && n <= TABLE_COLUMNS_MAX);
    memset(table, 0, sizeof *table);
    table->columns = columns;
    table->columns_n = n;
}

void table_release(struct table *table)
{
    for (size_t i = 0; i < table->cells.n; i++)
        free(table->cells.v[i].text);
    vec_release(&table->cells);
}

void table_row(struct table *table)
{
    while (table->cells.n % table->columns_n)
        table_cell(table, STYLE_PLAIN, "");
}

void table_cell(struct table *table, enum style style, const char *text)
{
    struct str clean = STR_INIT(8 * PRINT_CELL_MAX);

    print_clean(&clean, text);
    vec_push(&table->cells, ((struct table_text){str_detach(&clean), style}));
}

void table_cell_i64(struct table *table, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, value);
    table_cell(table, STYLE_PLAIN, text);
}

/* Columns that a column needs; 0 when nothing stands in it. */
static size_t column_width(const struct table *table, size_t column)
{
    size_t widest = print_columns(view_of(table->columns[column].title));
    bool empty = true;

    for (size_t i = column; i < table->cells.n; i += table->columns_n) {
        const char *text = table->cells.v[i].text;
        size_t width = print_columns(view_of(text));

        if (width > widest)
            widest = width;
        if (*text && strcmp(text, "-") != 0)
            empty = false;
    }
    return empty ? 0 : widest;
}

static void widths_fit(const struct table *table, unsigned limit, size_t *widths)
{
    size_t total = 0;
    size_t over;

    for (size_t i = 0; i < table->columns_n; i++) {
        widths[i] = column_width(table, i);
        total += widths[i] ? widths[i] + TABLE_GAP : 0;
    }
    if (total)
        total -= TABLE_GAP;
    if (!limit || total <= limit)
        return;
    over = total - limit;
    for (size_t i = 0; i < table->columns_n; i++) {
        size_t most = widths[i] > TABLE_FLEXIBLE_MIN ? widths[i] - TABLE_FLEXIBLE_MIN : 0;

        if (table->columns[i].flexible)
            widths[i] -= over < most ? over : most;
    }
}

static void pad(struct str *out, size_t n)
{
    while (n--)
        str_putc(out, ' ');
}

/* A text that is too long keeps its beginning and ends in "...". */
static void cell_print(struct str *out, const struct table_text *cell, size_t width, bool right,
                       bool last, bool colour)
{
    struct view text = view_of(cell->text);
    size_t columns = print_columns(text);
    char *shown;

    if (columns > width) {
        text.n = print_fit(text, width > 3 ? width - 3 : 0);
        shown = xasprintf("%.*s...", VIEW_ARG(text));
        columns = width;
    } else {
        shown = xstrdup(cell->text);
    }
    if (right)
        pad(out, width - columns);
    print_styled(out, colour && columns, cell->style, shown);
    if (!right && !last)
        pad(out, width - columns);
    free(shown);
}

static void row_print(const struct table *table, const struct table_text *cells,
                      const size_t *widths, bool colour, struct str *out)
{
    size_t last = 0;
    bool first = true;

    for (size_t i = 0; i < table->columns_n; i++)
        if (widths[i] && *cells[i].text)
            last = i;
    for (size_t i = 0; i <= last; i++) {
        if (!widths[i])
            continue;
        if (!first)
            pad(out, TABLE_GAP);
        first = false;
        cell_print(out, &cells[i], widths[i], table->columns[i].right, i == last, colour);
    }
    str_putc(out, '\n');
}

void table_print(struct table *table, unsigned width, bool colour, struct str *out)
{
    struct table_text titles[TABLE_COLUMNS_MAX];
    size_t widths[TABLE_COLUMNS_MAX];

    table_row(table); /* fills the last one */
    widths_fit(table, width, widths);
    for (size_t i = 0; i < table->columns_n; i++)
        titles[i] = (struct table_text){(char *)table->columns[i].title, STYLE_DIM};
    row_print(table, titles, widths, colour, out);
    for (size_t i = 0; i < table->cells.n; i += table->columns_n)
        row_print(table, &table->cells.v[i], widths, colour, out);
}
