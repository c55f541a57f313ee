#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/base/yamltree.h"

/* Appends the tree in one line: {key:value} [item], quoted text in quotes, ~ for nothing. */
static void show(struct str *out, const struct yaml_node *node)
{
    if (node->kind == YAML_NULL) {
        str_putc(out, '~');
        return;
    }
    if (node->kind == YAML_SCALAR) {
        str_put(out, node->quoted ? "'" : "");
        str_put_view(out, node->text);
        str_put(out, node->quoted ? "'" : "");
        return;
    }
    str_putc(out, node->kind == YAML_LIST ? '[' : '{');
    for (size_t i = 0; i < node->n; i++) {
        str_put(out, i ? "," : "");
        if (node->entries[i].key) {
            str_put_view(out, node->entries[i].key->text);
            str_putc(out, ':');
        }
        show(out, node->entries[i].value);
    }
    str_putc(out, node->kind == YAML_LIST ? ']' : '}');
}

/* The tree that text gives, "-" without one, and then every error in a line of its own. */
static void assert_gives(struct view text, const char *expected)
{
    struct yaml_errors errors = {{NULL, 0, 0}, false};
    struct yaml_tree *tree = yaml_parse(text, "f", &errors);
    struct str all = STR_INIT(1 << 20);

    if (tree)
        show(&all, yaml_root(tree));
    else
        str_putc(&all, '-');
    for (size_t i = 0; i < errors.v.n; i++)
        str_printf(&all, "\n%s", errors.v.v[i]);
    assert_string_equal(str_cstr(&all), expected);
    str_release(&all);
    yaml_tree_free(tree);
    yaml_errors_release(&errors);
}

static void assert_text_gives(const char *text, const char *expected)
{
    assert_gives(view_of(text), expected);
}

static void styles(void **state)
{
    (void)state;
    assert_text_gives("a: 1\nb: [x, {y: z}]\nc:\n  - d\n  -\n", "{a:1,b:[x,{y:z}],c:[d,~]}");
    assert_text_gives("'q': \"a\\tb\"\nl: |\n  x\n  y\nf: >\n  x\n  y\n",
                      "{q:'a\tb',l:'x\ny\n',f:'x y\n'}");
    assert_text_gives("plain", "plain");
    assert_text_gives("%YAML 1.2\n---\na: b\n...\n", "{a:b}");
    assert_text_gives("{}", "{}");
    assert_text_gives("\xef\xbb\xbf"
                      "a: caf\xc3\xa9",
                      "{a:caf\xc3\xa9}");
}

static void words_stay_text(void **state)
{
    (void)state;
    assert_text_gives("[no, 1.10, 0755, 1e3, 2026-01-30, yes, .5, 0x1F, 12:30:45]",
                      "[no,1.10,0755,1e3,2026-01-30,yes,.5,0x1F,12:30:45]");
    assert_text_gives("[~, null, Null, NULL, 'null', '~', '', nUll]",
                      "[~,~,~,~,'null','~','',nUll]");
    assert_text_gives("[!!str null, !!int 5, ! 6, !!str ~]", "['null',5,'6','~']");
}

static void empty_documents(void **state)
{
    (void)state;
    assert_gives(VIEW_NULL, "~");
    assert_text_gives("# nothing\n\n", "~");
    assert_text_gives("---\n", "~");
}

static void nul_bytes_in_text(void **state)
{
    struct yaml_errors errors = {{NULL, 0, 0}, false};
    struct yaml_tree *tree = yaml_parse(view_of("\"k\\0x\": \"a\\0b\"\n\"k\": 2"), "f", &errors);
    const struct yaml_node *root = yaml_root(tree);

    (void)state;
    assert_int_equal(errors.v.n, 0);
    assert_int_equal(root->n, 2);
    assert_int_equal(root->entries[0].value->text.n, 3);
    assert_memory_equal(root->entries[0].value->text.p, "a\0b", 4);
    assert_true(view_is(yaml_get(root, "k")->text, "2"));
    yaml_tree_free(tree);
    assert_gives(view_bytes("a: x\0y", 6),
                 "-\nf:1:5: control characters are not allowed (0x00): expected UTF-8 text");
}

static void nodes_know_their_place(void **state)
{
    struct yaml_errors errors = {{NULL, 0, 0}, false};
    struct yaml_tree *tree =
        yaml_parse(view_of("# c\na:\n  - x\n  - k: v\n\xc3\xa9: w"), "d/f.yaml", &errors);
    const struct yaml_node *list = yaml_get(yaml_root(tree), "a");
    const struct yaml_node *v = yaml_get(list->entries[1].value, "k");
    const struct yaml_node *w = yaml_get(yaml_root(tree), "\xc3\xa9");

    (void)state;
    assert_string_equal(v->file, "d/f.yaml");
    assert_int_equal(v->line, 4);
    assert_int_equal(v->column, 8);
    assert_int_equal(list->entries[0].value->line, 3);
    assert_int_equal(list->entries[0].value->column, 5);
    assert_int_equal(w->line, 5);
    assert_int_equal(w->column, 4); /* characters, not bytes */
    assert_null(yaml_get(list, "a"));
    assert_null(yaml_get(yaml_root(tree), "b"));
    assert_null(yaml_get(NULL, "b"));
    yaml_tree_free(tree);
}

static void duplicate_keys_name_both_places(void **state)
{
    (void)state;
    assert_text_gives("a: 1\nb: {x: 1, x: 2}\na: 3\n'a': 4\n",
                      "{a:1,b:{x:1}}\n"
                      "f:2:11: duplicate key 'x': already given at line 2, column 5\n"
                      "f:3:1: duplicate key 'a': already given at line 1, column 1\n"
                      "f:4:1: duplicate key 'a': already given at line 1, column 1");
    assert_text_gives("\"\\e[31m\\n\": 1\n\"\\e[31m\\n\": 1",
                      "{\x1b[31m\n:1}\n"
                      "f:2:1: duplicate key '\\x1b[31m\\x0a': already given at line 1, column 1");
}

static void keys_are_text(void **state)
{
    (void)state;
    assert_text_gives("? [a]\n: b\n? {c: d}\n: e\nf: g\n",
                      "{f:g}\n"
                      "f:1:3: a list as a key: expected text\n"
                      "f:3:3: a mapping as a key: expected text");
    assert_text_gives("null: a\n~: b\n1: c\n", "{null:a,~:b,1:c}");
    assert_text_gives("?\n: a\n", "{}\nf:1:2: nothing as a key: expected text");
    assert_text_gives("- &x ~\n- {*x : y}\n", "[~,{}]\nf:1:3: nothing as a key: expected text");
}

static void anchors_and_aliases(void **state)
{
    (void)state;
    assert_text_gives("a: &x {k: v}\nb: *x\nc: [*x, &y z, *y]\n",
                      "{a:{k:v},b:{k:v},c:[{k:v},z,z]}");
    assert_text_gives("&k a: 1\nb: {*k : 2}\n", "{a:1,b:{a:2}}");
    assert_text_gives(
        "a: &x 1\nb: &x 2\nc: *x\n",
        "{a:1,b:2,c:2}\nf:2:4: duplicate anchor '&x': already given at line 1, column 4");
    assert_text_gives("a: *x\nb: *y\n",
                      "-\nf:1:4: unknown alias '*x': expected an anchor '&x' before it\n"
                      "f:2:4: unknown alias '*y': expected an anchor '&y' before it");
    assert_text_gives("a: &x [1, {b: *x}]\n", "-\nf:1:15: alias '*x' stands inside what it names");
    assert_text_gives("&x {a: &x [*x]}\n",
                      "-\nf:1:8: duplicate anchor '&x': already given at line 1, column 1\n"
                      "f:1:12: alias '*x' stands inside what it names");
}

static void merge_keys(void **state)
{
    (void)state;
    assert_text_gives("d: &d {a: 1, b: 2}\nx:\n  b: 9\n  <<: *d\n", "{d:{a:1,b:2},x:{b:9,a:1}}");
    assert_text_gives("d: &d {a: 1}\ne: &e {a: 2, b: 3}\nx: {<<: [*d, *e], c: 4}\n",
                      "{d:{a:1},e:{a:2,b:3},x:{c:4,a:1,b:3}}");
    assert_text_gives("a: &a {k: 1}\nb: &b {<<: *a, l: 2}\nc: {<<: *b, k: 3}\n",
                      "{a:{k:1},b:{l:2,k:1},c:{k:3,l:2}}");
    assert_text_gives("{<<: {a: 1}}", "{a:1}");
    assert_text_gives("{'<<': 1}", "{<<:1}");
    assert_text_gives(
        "x: {<<: 5, a: 1}\n",
        "{x:{a:1}}\nf:1:9: text under '<<': expected a mapping or a list of mappings");
    assert_text_gives(
        "x: {<<: [{b: 1}, y]}\n",
        "{x:{b:1}}\nf:1:18: text under '<<': expected a mapping or a list of mappings");
    assert_text_gives("{<<: {a: 1}, <<: {b: 2}}",
                      "{a:1,b:2}\nf:1:14: duplicate key '<<': already given at line 1, column 2");
}

static void tabs_are_named(void **state)
{
    (void)state;
    assert_text_gives("a:\n\tb: 1\n", "-\nf:2:1: a tab in the indentation: expected spaces");
    assert_text_gives("a:\r\n  b: 1\r\n  \tc: 2\r\n",
                      "-\nf:3:3: a tab in the indentation: expected spaces");
    /* Not every tab on the line of an error is to blame for it. */
    assert_text_gives("a:\tb: c\n", "-\nf:1:5: a ':' where no key can stand: expected quotes "
                                    "around the text, or other indentation");
    assert_text_gives("a: 1\t# fine\nb:\t2\n", "{a:1,b:2}");
}

static void syntax_errors_have_places(void **state)
{
    (void)state;
    assert_text_gives("a: b: c\n",
                      "-\nf:1:5: a ':' where no key can stand: expected quotes around the "
                      "text, or other indentation");
    assert_text_gives("a: 'x\nb: 1\n",
                      "-\nf:3:1: the text ends too early: expected the closing quote "
                      "(while scanning a quoted scalar that began at line 1, column 4)");
    assert_text_gives("a: @x\n",
                      "-\nf:1:4: text cannot begin with this character: expected quotes "
                      "around it (while scanning for the next token that began at line 1, "
                      "column 4)");
    assert_text_gives("a: 1\n b: 2\n",
                      "-\nf:2:3: a ':' where no key can stand: expected quotes around "
                      "the text, or other indentation");
    assert_text_gives("ok\n\xff",
                      "-\nf:2:1: invalid leading UTF-8 octet (0xff): expected UTF-8 text");
    assert_text_gives("--- a\n--- b\n", "-\nf:2:1: a second document: expected one");
}

static void tags_are_not_acted_on(void **state)
{
    (void)state;
    assert_text_gives(
        "[!include x, !!python/object y, !!map {a: b}]",
        "[x,y,{a:b}]\n"
        "f:1:2: tag '!include' has no meaning here: expected none\n"
        "f:1:14: tag 'tag:yaml.org,2002:python/object' has no meaning here: expected none");
}

static void utf16(void **state)
{
    (void)state;
    assert_gives(view_bytes("\xff\xfe"
                            "a\0:\0 \0\xe9\0",
                            10),
                 "{a:\xc3\xa9}");
    assert_gives(view_bytes("\xfe\xff\0a\0:\0 \0b", 10), "{a:b}");
    assert_gives(view_bytes("\xff\xfe"
                            "a\0:",
                            5),
                 "-\nf:1:3: half a character: expected UTF-16 text");
}

static void repeat(struct str *s, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        str_put(s, text);
}

static void depth_is_bounded(void **state)
{
    struct str s = STR_INIT(YAML_MAX_BYTES);

    (void)state;
    repeat(&s, "[", 32);
    repeat(&s, "]", 32);
    assert_gives(str_view(&s), "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]");
    str_clear(&s);
    repeat(&s, "[", 1000000);
    assert_gives(str_view(&s), "-\nf:1:33: nested too deep: expected at most 32 levels");
    str_clear(&s);
    repeat(&s, "- ", 1000000);
    assert_gives(str_view(&s), "-\nf:1:65: nested too deep: expected at most 32 levels");
    str_clear(&s);
    str_put(&s, "- &a0 x\n");
    for (int i = 1; i < 40; i++)
        str_printf(&s, "- &a%d [*a%d]\n", i, i - 1);
    assert_gives(str_view(&s), "-\nf:32:9: nested too deep: expected at most 32 levels");
    str_release(&s);
}

static void expansion_is_bounded(void **state)
{
    struct str s = STR_INIT(YAML_MAX_BYTES);

    (void)state;
    str_put(&s, "- &a [x,x,x,x,x,x,x,x,x]\n");
    for (int c = 'b'; c < 'j'; c++)
        str_printf(&s, "- &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c - 1, c - 1, c - 1,
                   c - 1, c - 1, c - 1, c - 1, c - 1, c - 1);
    assert_gives(str_view(&s),
                 "-\nf:6:10: too much: expected at most 200000 values, aliases counted in full");
    str_clear(&s);
    str_put(&s, "- &a ");
    repeat(&s, "0123456789", 100000);
    repeat(&s, "\n- *a", 100);
    assert_gives(str_view(&s),
                 "-\nf:17:3: too much: expected at most 16777216 bytes, aliases counted in full");
    str_clear(&s);
    for (int i = 0; i < 2000; i++)
        str_printf(&s, "- &a%d x\n", i);
    assert_gives(str_view(&s), "-\nf:1001:3: too many anchors: expected at most 1000");
    str_release(&s);
}

static void size_is_bounded(void **state)
{
    struct str s = STR_INIT(YAML_MAX_BYTES + 1);

    (void)state;
    repeat(&s, "#", YAML_MAX_BYTES + 1);
    assert_gives(str_view(&s), "-\nf: 4194305 bytes: expected at most 4194304");
    assert_gives(view_bytes(s.p, YAML_MAX_BYTES), "~");
    str_release(&s);
}

static void errors_are_bounded(void **state)
{
    struct yaml_errors errors = {{NULL, 0, 0}, false};
    struct str s = STR_INIT(YAML_MAX_BYTES);
    struct yaml_tree *tree;

    (void)state;
    repeat(&s, "k: v\n", 101);
    tree = yaml_parse(str_view(&s), "f", &errors);
    assert_int_equal(errors.v.n, YAML_MAX_ERRORS);
    assert_false(errors.more);
    yaml_tree_free(tree);
    str_put(&s, "k: v\n");
    yaml_errors_release(&errors);
    tree = yaml_parse(str_view(&s), "f", &errors);
    assert_int_equal(errors.v.n, YAML_MAX_ERRORS);
    assert_true(errors.more);
    yaml_tree_free(tree);
    yaml_errors_release(&errors);
    assert_false(errors.more);
    str_release(&s);
    yaml_tree_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(styles),
        cmocka_unit_test(words_stay_text),
        cmocka_unit_test(empty_documents),
        cmocka_unit_test(nul_bytes_in_text),
        cmocka_unit_test(nodes_know_their_place),
        cmocka_unit_test(duplicate_keys_name_both_places),
        cmocka_unit_test(keys_are_text),
        cmocka_unit_test(anchors_and_aliases),
        cmocka_unit_test(merge_keys),
        cmocka_unit_test(tabs_are_named),
        cmocka_unit_test(syntax_errors_have_places),
        cmocka_unit_test(tags_are_not_acted_on),
        cmocka_unit_test(utf16),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(expansion_is_bounded),
        cmocka_unit_test(size_is_bounded),
        cmocka_unit_test(errors_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
