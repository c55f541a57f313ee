/*
 * PROTOCOL.md against the code: every table, number and example in it, and everything in the code
 * that it must have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/mem.h"
#include "proto/codec.h"
#include "proto/frame.h"
#include "proto/journal.h"
#include "proto/proof.h"
#include "proto/scan.h"
#include "proto/session.h"

enum { DOC_MAX_BYTES = 1 << 20 };

/* The document, and its skeleton: headings, the facts below them, and the first three columns of
 * the fields' tables, a line each. */
static struct str doc = STR_INIT(DOC_MAX_BYTES);
static struct str found = STR_INIT(DOC_MAX_BYTES);
static struct str expected = STR_INIT(DOC_MAX_BYTES);

static void read_doc(void)
{
    FILE *f = fopen(SOURCE_ROOT "/proto/PROTOCOL.md", "rb");
    char piece[4096];
    size_t n;

    assert_non_null(f);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        str_put_view(&doc, view_bytes(piece, n));
    (void)fclose(f);
}

/* Up to the end of the third column of a row: "| `name` | TEXT | 64 |". */
static size_t three_columns(const char *line, size_t n)
{
    int bars = 0;

    for (size_t i = 0; i < n; i++) {
        if (line[i] == '|' && ++bars == 4)
            return i + 1;
    }
    return n;
}

static void put_line(struct str *out, const char *line, size_t n)
{
    str_put_view(out, view_bytes(line, n));
    str_putc(out, '\n');
}

static void make_found(void)
{
    const char *line = strstr(doc.p, "\n## Messages\n");

    assert_non_null(line);
    for (line++; *line; line++) {
        size_t n = strcspn(line, "\n");

        if (strncmp(line, "### ", 4) == 0 || strstr(line, "Required fields: ") == line ||
            strncmp(line, "From: ", 6) == 0 || strncmp(line, "Record. ", 8) == 0)
            put_line(&found, line, n);
        else if (strncmp(line, "| `", 3) == 0)
            put_line(&found, line, three_columns(line, n));
        line += n;
        if (!*line)
            break;
    }
}

static void expect_head(const struct msg_description *row, struct str *out)
{
    static const char *const senders[] = {
        [MSG_FROM_SLAVE] = "slave", [MSG_FROM_MASTER] = "master", [MSG_FROM_BOTH] = "both"};

    if (row->number == 0)
        str_printf(out, "### struct %s\nRequired fields: %zu.\n", row->owner, row->required);
    else if (row->lane == MSG_LANE_RECORD)
        str_printf(out, "### %s (%u)\nRecord. Required fields: %zu.\n", row->owner, row->number,
                   row->required);
    else
        str_printf(out, "### %s (%u)\nFrom: %s. Lane: %s. Required fields: %zu.\n", row->owner,
                   row->number, senders[row->from], row->lane == MSG_LANE_BULK ? "bulk" : "control",
                   row->required);
}

static void expect_row(void *arg, const struct msg_description *row)
{
    struct str *parts = arg;
    struct str *out = &parts[row->number ? 0 : 1];

    if (!row->field) {
        expect_head(row, out);
        return;
    }
    str_printf(out, "| `%s` | %s |", row->field, row->kind);
    if (row->most)
        str_printf(out, " %zu", row->most);
    if (row->most_each)
        str_printf(out, " of %zu", row->most_each);
    if (row->element)
        str_printf(out, " of %s", row->element);
    str_put(out, " |\n");
}

/* Messages and records come first in the document, structs last. */
static void make_expected(void)
{
    struct str parts[2] = {STR_INIT(DOC_MAX_BYTES), STR_INIT(DOC_MAX_BYTES)};

    msg_describe(expect_row, parts);
    for (int i = 0; i < 2; i++) {
        str_put_view(&expected, str_view(&parts[i]));
        str_release(&parts[i]);
    }
}

/* Line by line, so that a difference is shown where it is. */
static void tables(void **state)
{
    const char *a = str_cstr(&expected);
    const char *b = str_cstr(&found);
    int n = 0;

    (void)state;
    for (; *a && *b; n++) {
        size_t na = strcspn(a, "\n");
        size_t nb = strcspn(b, "\n");

        if (na != nb || memcmp(a, b, na) != 0)
            fail_msg("messages.def says \"%.*s\", PROTOCOL.md \"%.*s\"", (int)na, a, (int)nb, b);
        a += na + 1;
        b += nb + 1;
    }
    assert_string_equal(a, ""); /* missing in the document */
    assert_string_equal(b, ""); /* unknown to the code */
    assert_true(n > 100);
}

static void expect_in_doc(const char *text)
{
    if (!strstr(doc.p, text))
        fail_msg("not in PROTOCOL.md: %s", text);
}

/* prefix, the number, suffix */
static void expect_number(const char *prefix, long value, const char *suffix)
{
    char line[256];

    (void)snprintf(line, sizeof line, "%s%ld%s", prefix, value, suffix);
    expect_in_doc(line);
}

static void limits(void **state)
{
    (void)state;
    expect_number("| bytes of a frame's body, before WELCOME | ", FRAME_MAX_HANDSHAKE_BYTES, " |");
    expect_number("| bytes of a frame's body, after WELCOME | ", FRAME_MAX_BYTES, " |");
    expect_number("| msgpack values in a body, arrays included | ", SCAN_MAX_OBJECTS, " |");
    expect_number("| depth of arrays | ", SCAN_MAX_DEPTH, " |");
    expect_number("inflated; 1 to ", FOLD_BLOCK_MAX_BYTES, " |");
    expect_number("(now ", PROTO_MIN, " to ");
    expect_number(" to ", PROTO_MAX, ").");
    expect_number("| seconds for the handshake | ", SESSION_HANDSHAKE_MS / 1000, " |");
    expect_number("| seconds of silence before a PING, unless configured | ",
                  SESSION_PING_AFTER_MS / 1000, " |");
    expect_number("| seconds of silence before the connection is dropped, unless configured | ",
                  SESSION_DROP_AFTER_MS / 1000, " |");
}

static void names(void **state)
{
    char line[64];

    (void)state;
    for (int r = RESULT_SUCCESS; r <= RESULT_LAST; r++) {
        (void)snprintf(line, sizeof line, "| %d | %s |", r, result_name((enum build_result)r));
        expect_in_doc(line);
    }
    for (int k = STEP_CHECKOUT; k <= STEP_KIND_LAST; k++) {
        (void)snprintf(line, sizeof line, "| %d | %s |", k, step_kind_name((enum step_kind)k));
        expect_in_doc(line);
    }
    expect_number("| ", ON_FAILURE_STOP, " | stop |");
    expect_number("| ", ON_FAILURE_CONTINUE, " | continue |");
    expect_number("| ", ON_FAILURE_WARN, " | warn |");
}

static const char secret[] = "correct horse battery staple";
static const char name[] = "linux-01";
static const char boot_id[] = "0192f0c1d2e3a4b5c6d7e8f901234567";

/* Bytes as the document shows them: 24 in a line. */
static void expect_hex_lines(struct view bytes)
{
    struct str lines = STR_INIT(4096);

    str_put(&lines, "```\n");
    for (size_t i = 0; i < bytes.n; i++) {
        str_printf(&lines, "%02x", (unsigned char)bytes.p[i]);
        str_putc(&lines, i + 1 == bytes.n || i % 24 == 23 ? '\n' : ' ');
    }
    str_put(&lines, "```\n");
    expect_in_doc(str_cstr(&lines));
    str_release(&lines);
}

static void expect_frame(const struct msg *msg)
{
    struct str frame = STR_INIT(4096);
    size_t begin;

    assert_int_equal(frame_begin(&frame, &begin, NULL), ERR_OK);
    assert_int_equal(msg_encode(msg, &frame, NULL), ERR_OK);
    frame_end(&frame, begin);
    expect_hex_lines(str_view(&frame));
    str_release(&frame);
}

static void expect_mac(const char *row, const uint8_t mac[PROOF_BYTES])
{
    char hex[2 * PROOF_BYTES + 1];
    char line[256];

    crypt_hex(mac, PROOF_BYTES, hex);
    (void)snprintf(line, sizeof line, "| %s | `%s` |", row, hex);
    expect_in_doc(line);
}

/* A HELLO as a slave writes it that leaves out what it may leave out, read by our decoder. */
static void expect_short_hello(const struct proof_facts *facts)
{
    struct str bytes = STR_INIT(4096);
    struct msg_arena *arena = msg_arena_new();
    size_t begin;
    struct msg msg;

    assert_int_equal(frame_begin(&bytes, &begin, NULL), ERR_OK);
    str_put(&bytes, "\x97\x01\x01\x01\xa8");
    str_put(&bytes, name);
    str_put(&bytes, "\xd9\x20");
    str_put(&bytes, boot_id);
    str_put(&bytes, "\x02\xc4\x20");
    str_put_view(&bytes, view_bytes(facts->slave_nonce, PROOF_NONCE_BYTES));
    frame_end(&bytes, begin);
    expect_hex_lines(str_view(&bytes));
    assert_int_equal(msg_decode(arena, view_bytes(bytes.p + 4, bytes.n - 4), &msg, NULL), ERR_OK);
    assert_true(view_is(msg.u.hello.name, name));
    assert_true(view_is(msg.u.hello.boot_id, boot_id));
    assert_int_equal(msg.u.hello.slots, 2);
    msg_arena_free(arena);
    str_release(&bytes);
}

static void worked_example(void **state)
{
    struct proof_facts facts = {.name = view_of(name), .boot_id = view_of(boot_id)};
    struct msg challenge = {.type = MSG_CHALLENGE};
    struct msg proof = {.type = MSG_PROOF};
    struct msg welcome = {.type = MSG_WELCOME,
                          .u.welcome = {.proto = 1,
                                        .boot_id = view_of("0192f0c1a0000000000000000000beef"),
                                        .ping_after_ms = SESSION_PING_AFTER_MS,
                                        .drop_after_ms = SESSION_DROP_AFTER_MS,
                                        .credit_bytes = SESSION_CREDIT_BYTES}};
    uint8_t slave_mac[PROOF_BYTES], master_mac[PROOF_BYTES];

    (void)state;
    for (int i = 0; i < PROOF_NONCE_BYTES; i++) {
        facts.slave_nonce[i] = (uint8_t)i;
        facts.master_nonce[i] = (uint8_t)(PROOF_NONCE_BYTES + i);
    }
    proof_of_slave(&facts, view_of(secret), slave_mac);
    proof_of_master(&facts, view_of(secret), master_mac);
    expect_in_doc("| secret | `correct horse battery staple` |");
    expect_in_doc("| HELLO.name | `linux-01` |");
    expect_in_doc("| HELLO.boot_id | `0192f0c1d2e3a4b5c6d7e8f901234567` |");
    expect_mac("HELLO.nonce", facts.slave_nonce);
    expect_mac("CHALLENGE.nonce", facts.master_nonce);
    expect_mac("PROOF.mac", slave_mac);
    expect_mac("WELCOME.mac", master_mac);
    challenge.u.challenge.nonce = view_bytes(facts.master_nonce, PROOF_NONCE_BYTES);
    proof.u.proof.mac = view_bytes(slave_mac, PROOF_BYTES);
    welcome.u.welcome.mac = view_bytes(master_mac, PROOF_BYTES);
    expect_short_hello(&facts);
    expect_frame(&challenge);
    expect_frame(&proof);
    expect_frame(&welcome);
    expect_in_doc("    00 00 00 03  92 06 07 ");
}

/* Every code that the session itself refuses with. */
static void refusals(void **state)
{
    (void)state;
    expect_in_doc("| version | ");
    expect_in_doc("| name | ");
    expect_in_doc("| secret | ");
    expect_in_doc("| protocol | ");
}

static int setup(void **state)
{
    (void)state;
    read_doc();
    make_found();
    make_expected();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    str_release(&doc);
    str_release(&found);
    str_release(&expected);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables),         cmocka_unit_test(limits),   cmocka_unit_test(names),
        cmocka_unit_test(worked_example), cmocka_unit_test(refusals),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
