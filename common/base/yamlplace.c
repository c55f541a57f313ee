#include "common/base/yamlplace.h"

#include <string.h>

bool yaml_place_is_utf16(struct view text)
{
    return text.n >= 2 && (((unsigned char)text.p[0] == 0xff && (unsigned char)text.p[1] == 0xfe) ||
                           ((unsigned char)text.p[0] == 0xfe && (unsigned char)text.p[1] == 0xff));
}

/* The line without its end; empty behind the last one. */
static struct view line_of(struct view text, unsigned line)
{
    size_t begin = 0;
    size_t end;

    for (unsigned at = 1; at < line && begin < text.n; begin++) {
        bool crlf = text.p[begin] == '\r' && begin + 1 < text.n && text.p[begin + 1] == '\n';

        if (text.p[begin] == '\n' || (text.p[begin] == '\r' && !crlf))
            at++;
    }
    for (end = begin; end < text.n && text.p[end] != '\n' && text.p[end] != '\r';)
        end++;
    return view_bytes(text.p + begin, end - begin);
}

bool yaml_place_tab(struct view text, struct yaml_place problem, struct yaml_place *tab)
{
    struct view line;
    unsigned column = 1;
    bool indentation = true;

    if (text.n == 0 || yaml_place_is_utf16(text))
        return false;
    line = line_of(text, problem.line);
    for (size_t i = 0; i < line.n && column <= problem.column; i++) {
        if (line.p[i] == '\t' && (indentation || column == problem.column)) {
            *tab = (struct yaml_place){problem.line, column};
            return true;
        }
        indentation = indentation && line.p[i] == ' ';
        if (((unsigned char)line.p[i] & 0xc0) != 0x80)
            column++;
    }
    return false;
}

struct yaml_place yaml_place_byte(struct view text, size_t offset)
{
    struct yaml_place place = {1, 1};
    size_t width = yaml_place_is_utf16(text) ? 2 : 1;
    size_t end = offset < text.n ? offset : text.n;

    for (size_t i = 0; i + width <= end; i += width) {
        unsigned char c = (unsigned char)text.p[i];

        /* Either half of a UTF-16 unit may be the line feed; good enough to find the line. */
        if (c == '\n' || (width == 2 && text.p[i + 1] == '\n')) {
            place.line++;
            place.column = 1;
        } else if (width == 2 || (c & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

const char *yaml_place_words(const char *problem)
{
    static const struct {
        const char *theirs;
        const char *ours;
    } table[] = {
        {"mapping values are not allowed in this context",
         "a ':' where no key can stand: expected quotes around the text, or other indentation"},
        {"could not find expected ':'", "a key without ':': expected 'key: value'"},
        {"did not find expected key",
         "this does not continue the mapping: expected 'key: value' at its indentation"},
        {"did not find expected '-' indicator",
         "this does not continue the list: expected '- ' at its indentation"},
        {"found character that cannot start any token",
         "text cannot begin with this character: expected quotes around it"},
        {"found unexpected end of stream", "the text ends too early: expected the closing quote"},
        {"did not find expected <document start>",
         "something stands behind the end of the document: expected one document"},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (strcmp(problem, table[i].theirs) == 0)
            return table[i].ours;
    }
    return problem;
}
