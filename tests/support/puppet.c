#include "tests/support/puppet.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "common/base/mem.h"
#include "proto/link.h"
#include "tests/support/memstream.h"

enum { LINES_MAX_BYTES = 1 << 20, MESSAGE_MAX_BYTES = 1 << 20 };

struct bulk {
    struct msg msg; /* RECORD; owns its body */
    struct bulk *prev, *next;
};

struct puppet {
    struct loop *loop;
    struct memstream *wire;
    struct link *link; /* NULL once closed */
    bool ready;
    struct str lines;
    struct bulk *bulk;
    struct str start_bytes; /* the newest START, encoded */
    struct msg_arena *start_arena;
    struct msg start;
};

static void line(struct puppet *puppet, const char *text)
{
    str_printf(&puppet->lines, "%s\n", text);
}

static void line_of(struct puppet *puppet, const char *word, uint64_t build, uint32_t attempt,
                    const char *more)
{
    str_printf(&puppet->lines, "%s %llu/%u%s%s\n", word, (unsigned long long)build, attempt,
               more[0] ? " " : "", more);
}

static void on_welcome(void *owner, const struct msg_welcome *welcome)
{
    struct puppet *puppet = owner;

    puppet->ready = true;
    line(puppet, "WELCOME");
    for (size_t i = 0; i < welcome->known.n; i++) {
        const struct msg_known *known = &welcome->known.v[i];
        char *more =
            xasprintf("%llu %s", (unsigned long long)known->stored, known->keep ? "keep" : "void");

        line_of(puppet, "KNOWN", known->build, known->attempt, more);
        free(more);
    }
}

static void on_refused(void *owner, const struct msg_refused *refused)
{
    struct puppet *puppet = owner;

    str_printf(&puppet->lines, "REFUSED %.*s\n", VIEW_ARG(refused->code));
}

static void keep_start(struct puppet *puppet, const struct msg *msg)
{
    line_of(puppet, "START", msg->u.start.build, msg->u.start.attempt, "");
    str_clear(&puppet->start_bytes);
    if (msg_encode(msg, &puppet->start_bytes, NULL) ||
        msg_decode(puppet->start_arena, str_view(&puppet->start_bytes), &puppet->start, NULL))
        abort();
}

static void on_message(void *owner, const struct msg *msg)
{
    struct puppet *puppet = owner;
    char *more = NULL;

    switch (msg->type) {
    case MSG_START:
        keep_start(puppet, msg);
        break;
    case MSG_ACK:
        more = xasprintf("%llu", (unsigned long long)msg->u.ack.number);
        line_of(puppet, "ACK", msg->u.ack.build, msg->u.ack.attempt, more);
        break;
    case MSG_FORGET:
        line_of(puppet, "FORGET", msg->u.forget.build, msg->u.forget.attempt, "");
        break;
    case MSG_CANCEL:
        more = view_dup(msg->u.cancel.reason);
        line_of(puppet, "CANCEL", msg->u.cancel.build, msg->u.cancel.attempt, more);
        break;
    case MSG_BYE:
        str_printf(&puppet->lines, "BYE %.*s\n", VIEW_ARG(msg->u.bye.reason));
        break;
    default:
        line(puppet, msg_name(msg->type));
        break;
    }
    free(more);
}

static void bulk_pop(struct puppet *puppet)
{
    struct bulk *bulk = puppet->bulk;

    DL_DELETE(puppet->bulk, bulk);
    free((void *)(uintptr_t)bulk->msg.u.record.body.p);
    free(bulk);
}

static void pump(struct puppet *puppet)
{
    while (puppet->bulk && puppet->link && link_can_send_bulk(puppet->link)) {
        if (link_send(puppet->link, &puppet->bulk->msg) != ERR_OK)
            return;
        bulk_pop(puppet);
    }
}

static void on_bulk_room(void *owner)
{
    pump(owner);
}

static void on_closed(void *owner, const struct err *why)
{
    struct puppet *puppet = owner;

    (void)why;
    puppet->link = NULL;
    puppet->ready = false;
    line(puppet, "CLOSED");
}

static struct puppet *dial(struct loop *loop, struct registry *registry, const char *secret)
{
    static const struct link_ops ops = {
        .session = {.on_welcome = on_welcome, .on_refused = on_refused, .on_message = on_message},
        .on_bulk_room = on_bulk_room,
        .on_closed = on_closed,
    };
    struct session_config config = {.role = SESSION_SLAVE, .secret = view_of(secret)};
    struct puppet *puppet = xcalloc(1, sizeof *puppet);

    puppet->loop = loop;
    puppet->lines.max = LINES_MAX_BYTES;
    puppet->start_bytes.max = MESSAGE_MAX_BYTES;
    puppet->start_arena = msg_arena_new();
    puppet->wire = memstream_new(loop);
    puppet->link = link_new(loop, memstream_end(puppet->wire, 0), &config, &ops, puppet);
    registry_accept(registry, memstream_end(puppet->wire, 1));
    return puppet;
}

struct puppet *puppet_new_silent(struct loop *loop, struct registry *registry)
{
    return dial(loop, registry, NULL);
}

struct puppet *puppet_new(struct loop *loop, struct registry *registry,
                          const struct puppet_hello *hello)
{
    struct puppet *puppet = dial(loop, registry, hello->secret);
    struct msg_hello msg = {
        .name = view_of(hello->name),
        .boot_id = view_of(hello->boot_id ? hello->boot_id : hello->name),
        .slots = hello->slots ? hello->slots : 1,
        .held = {hello->held, hello->n_held},
        .draining = hello->draining,
        .version = view_of("9.9.9"),
        .os = view_of("Plan 9"),
    };

    session_hello(link_session(puppet->link), &msg);
    link_flush(puppet->link);
    return puppet;
}

void puppet_free(struct puppet *puppet)
{
    assert(!puppet->link);
    while (puppet->bulk)
        bulk_pop(puppet);
    memstream_free(puppet->wire);
    msg_arena_free(puppet->start_arena);
    str_release(&puppet->start_bytes);
    str_release(&puppet->lines);
    free(puppet);
}

bool puppet_is_ready(const struct puppet *puppet)
{
    return puppet->ready;
}

bool puppet_is_closed(const struct puppet *puppet)
{
    return !puppet->link;
}

bool puppet_heard(const struct puppet *puppet, const char *wanted)
{
    struct view rest = str_view(&puppet->lines);
    size_t n = strlen(wanted);

    while (rest.n > 0) {
        size_t length = (size_t)((const char *)memchr(rest.p, '\n', rest.n) - rest.p);

        if (length == n && memcmp(rest.p, wanted, n) == 0)
            return true;
        rest = view_bytes(rest.p + length + 1, rest.n - length - 1);
    }
    return false;
}

const char *puppet_lines(const struct puppet *puppet)
{
    return str_cstr(&puppet->lines);
}

void puppet_clear(struct puppet *puppet)
{
    str_clear(&puppet->lines);
}

const struct msg_start *puppet_start(struct puppet *puppet)
{
    return puppet->start.type == MSG_START ? &puppet->start.u.start : NULL;
}

void puppet_record(struct puppet *puppet, uint64_t build, uint32_t attempt, uint64_t number,
                   const struct msg *record)
{
    struct bulk *bulk = xcalloc(1, sizeof *bulk);
    struct str body = STR_INIT(MESSAGE_MAX_BYTES);
    size_t n;

    if (msg_encode(record, &body, NULL))
        abort();
    n = body.n;
    bulk->msg.type = MSG_RECORD;
    bulk->msg.u.record =
        (struct msg_record){build, attempt, number, view_bytes(str_detach(&body), n)};
    DL_APPEND(puppet->bulk, bulk);
    pump(puppet);
}

void puppet_send(struct puppet *puppet, const struct msg *msg)
{
    if (link_send(puppet->link, msg))
        abort();
}

void puppet_send_raw(struct puppet *puppet, const char *bytes, size_t n)
{
    stream_write(memstream_end(puppet->wire, 0), xmemdup(bytes, n), n);
}

size_t puppet_waiting(const struct puppet *puppet)
{
    const struct bulk *bulk;
    size_t n = 0;

    DL_FOREACH (puppet->bulk, bulk) {
        n++;
    }
    return n;
}

void puppet_mute(struct puppet *puppet, bool on)
{
    memstream_block(puppet->wire, 0, on);
}

void puppet_deafen(struct puppet *puppet, bool on)
{
    memstream_block(puppet->wire, 1, on);
}

void puppet_cut(struct puppet *puppet, size_t after_bytes)
{
    memstream_cut(puppet->wire, 0, after_bytes);
}

void puppet_close(struct puppet *puppet)
{
    if (puppet->link)
        link_close(puppet->link, NULL);
}
