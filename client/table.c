#include "client/table.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"

enum {
    TABLE_GAP = 2,
    TABLE_LEAST = 4,
    TABLE_CUT_LEAST = 12,
    TABLE_WRAP_LEAST = 24,
    TABLE_COLUMNS_MAX = 16,
};

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

/* The columns that a printed line takes. */
static size_t widths_total(const struct table *table, const size_t *widths)
{
    size_t total = 0;

    for (size_t i = 0; i < table->columns_n; i++)
        if (widths[i])
            total += widths[i] + (total ? TABLE_GAP : 0);
    return total;
}

/* How narrow a column may become before others are left out for it. */
static size_t width_least(const struct table_column *column, size_t width)
{
    size_t least = column->fit == TABLE_CUT    ? TABLE_CUT_LEAST
                   : column->fit == TABLE_WRAP ? TABLE_WRAP_LEAST
                                               : width;

    return least < width ? least : width;
}

/* Takes columns from the widest that is above its least, until the table fits. */
static void widths_shrink(const struct table *table, size_t limit, const size_t *least,
                          size_t *widths)
{
    for (size_t total = widths_total(table, widths); total > limit; total--) {
        size_t *widest = NULL;

        for (size_t i = 0; i < table->columns_n; i++)
            if (widths[i] > least[i] && (!widest || widths[i] > *widest))
                widest = &widths[i];
        if (!widest)
            return;
        (*widest)--;
    }
}

/* The shown column that is missed least, or columns_n. */
static size_t column_to_drop(const struct table *table, const size_t *widths)
{
    size_t found = table->columns_n;
    unsigned drop = 0;

    for (size_t i = 0; i < table->columns_n; i++) {
        if (!widths[i] || table->columns[i].drop <= drop)
            continue;
        found = i;
        drop = table->columns[i].drop;
    }
    return found;
}

static void widths_fit(const struct table *table, unsigned limit, size_t *widths)
{
    size_t least[TABLE_COLUMNS_MAX];
    size_t drop;

    for (size_t i = 0; i < table->columns_n; i++) {
        widths[i] = column_width(table, i);
        least[i] = width_least(&table->columns[i], widths[i]);
    }
    if (!limit || widths_total(table, widths) <= limit)
        return;
    while (widths_total(table, least) > limit &&
           (drop = column_to_drop(table, widths)) < table->columns_n)
        widths[drop] = least[drop] = 0;
    widths_shrink(table, limit, least, widths);
    /* A terminal so narrow that even this does not help: all columns give. */
    for (size_t i = 0; i < table->columns_n; i++)
        least[i] = widths[i] < TABLE_LEAST ? widths[i] : TABLE_LEAST;
    widths_shrink(table, limit, least, widths);
}

static void pad(struct str *out, size_t n)
{
    while (n--)
        str_putc(out, ' ');
}

/* Cuts the next line off *rest; what does not fit is left there when the column wraps. The caller
 * frees. */
static char *line_take(struct view *rest, size_t width, enum table_fit fit)
{
    struct view text = *rest;
    struct view line = text;

    *rest = VIEW_NULL;
    if (print_columns(text) <= width)
        return view_dup(text);
    if (fit != TABLE_WRAP) {
        line.n = print_fit(text, width > 3 ? width - 3 : 0);
        return xasprintf("%.*s%.*s", VIEW_ARG(line), (int)(width < 3 ? width : 3), "...");
    }
    line.n = print_break(text, width);
    *rest = view_bytes(text.p + line.n, text.n - line.n);
    while (rest->n && *rest->p == ' ') {
        rest->p++;
        rest->n--;
    }
    return view_dup(line);
}

/* What is left of a row to print. */
struct row_rest {
    struct view texts[TABLE_COLUMNS_MAX];
};

static void line_print(const struct table *table, const struct table_text *cells,
                       struct row_rest *rest, const size_t *widths, bool colour, struct str *out)
{
    size_t last = 0;
    bool first = true;

    for (size_t i = 0; i < table->columns_n; i++)
        if (widths[i] && rest->texts[i].n)
            last = i;
    for (size_t i = 0; i <= last; i++) {
        char *line;
        size_t blank;

        if (!widths[i])
            continue;
        if (!first)
            pad(out, TABLE_GAP);
        first = false;
        line = line_take(&rest->texts[i], widths[i], table->columns[i].fit);
        blank = widths[i] - print_columns(view_of(line));
        if (table->columns[i].right)
            pad(out, blank);
        print_styled(out, colour && *line, cells[i].style, line);
        if (!table->columns[i].right && i != last)
            pad(out, blank);
        free(line);
    }
    str_putc(out, '\n');
}

/* As many lines as the longest of its sentences needs. */
static void row_print(const struct table *table, const struct table_text *cells,
                      const size_t *widths, bool colour, struct str *out)
{
    struct row_rest rest = {{VIEW_NULL}};
    bool more = true;

    for (size_t i = 0; i < table->columns_n; i++)
        rest.texts[i] = widths[i] ? view_of(cells[i].text) : VIEW_NULL;
    while (more) {
        line_print(table, cells, &rest, widths, colour, out);
        more = false;
        for (size_t i = 0; i < table->columns_n; i++)
            more = more || rest.texts[i].n;
    }
}

void table_print(struct table *table, unsigned width, bool colour, struct str *out)
{
    struct table_text titles[TABLE_COLUMNS_MAX] = {{NULL, STYLE_DIM}};
    size_t widths[TABLE_COLUMNS_MAX];

    table_row(table); /* fills the last one */
    widths_fit(table, width, widths);
    for (size_t i = 0; i < table->columns_n; i++)
        titles[i] = (struct table_text){(char *)table->columns[i].title, STYLE_DIM};
    row_print(table, titles, widths, colour, out);
    for (size_t i = 0; i < table->cells.n; i += table->columns_n)
        row_print(table, &table->cells.v[i], widths, colour, out);
}
