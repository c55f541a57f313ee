/*
 * A master's and a slave's session, and a script of what happens to them: each step of the script
 * is a byte that says what and a byte that says how much. Either side may also get bytes that the
 * other never sent. Whatever happens, credit and queues stay within their bounds, and a session
 * that failed stays so.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/proto/pair.h"
#include "tests/unit/proto/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WINDOW_BYTES = 4096 };

enum action {
    ACT_DELIVER, /* everything */
    ACT_PIECES,  /* everything, in pieces of so many bytes */
    ACT_SLAVE_SENDS,
    ACT_MASTER_SENDS,
    ACT_RECORD, /* the slave sends one, if there is room */
    ACT_GRANT,  /* the master gives back so many bytes */
    ACT_TIME,   /* passes, in units of 500 ms */
    ACT_PROBE,
    ACT_DECIDE,        /* the master's owner answers late */
    ACT_RAW_TO_MASTER, /* the next bytes of the script as they are */
    ACT_RAW_TO_SLAVE,
    ACT_FORGED_TO_MASTER, /* a well-formed message of any type */
    ACT_FORGED_TO_SLAVE,
    ACT_STOP,
    ACT_COUNT,
};

struct script {
    const uint8_t *p;
    size_t n;
};

static struct view take(struct script *script, size_t n)
{
    struct view bytes;

    n = n < script->n ? n : script->n;
    bytes = view_bytes(script->p, n);
    script->p += n;
    script->n -= n;
    return bytes;
}

static bool may_say(const struct side *side, unsigned number)
{
    unsigned from = session_state(side->session) == SESSION_READY ? MSG_FROM_BOTH : 0;
    const struct shape *shape = shape_find(number);

    return from && shape && number > MSG_REFUSED && shape->lane == MSG_LANE_CONTROL;
}

/* A message that this side may say. */
static void send_control(struct side *side, enum msg_from from, unsigned how)
{
    unsigned number = how % 16;
    struct sample sample;

    if (!may_say(side, number) || !(msg_sender((enum msg_type)number) & from))
        return;
    sample_make(&sample, number, how);
    if (session_send(side->session, &sample.msg, NULL) == ERR_AGAIN)
        abort();
    sample_release(&sample);
}

static void send_record(struct side *slave, size_t bytes)
{
    static char body[256];
    struct msg msg = {.type = MSG_RECORD, .u.record = {1, 1, 1, {body, bytes}}};
    bool room = session_bulk_room(slave->session);
    enum err_code rc = session_send(slave->session, &msg, NULL);

    if (room != (rc == ERR_OK))
        abort();
}

static void forge(struct side *to, unsigned how, uint64_t now_ms)
{
    struct sample sample;

    if (!shape_find(how % 80))
        return;
    sample_make(&sample, how % 80, how);
    side_input_msg(to, &sample.msg, now_ms);
    sample_release(&sample);
}

static void grant(struct side *master, uint64_t bytes)
{
    uint64_t owed = session_owed(master->session);

    if (session_state(master->session) != SESSION_READY)
        return;
    session_granted(master->session, bytes * 16 < owed ? bytes * 16 : owed);
}

static void decide(struct side *master, unsigned how)
{
    struct view secret = view_of("s3cret");
    bool challenged = strstr(str_cstr(&master->heard), "challenged");

    if (session_state(master->session) != SESSION_DECIDING)
        return;
    if (how % 3 == 0) {
        session_refuse(master->session, "busy", "later", how);
    } else if (how % 3 == 1 && !challenged) {
        side_hears(master, "challenged", VIEW_NULL);
        session_challenge(master->session, &secret, 1);
    } else {
        side_welcomes(master);
    }
}

static void pass_time(struct pair *pair, unsigned how)
{
    pair->now_ms += how * 500ULL;
    if (session_next_tick_ms(pair->master.session) <= pair->now_ms)
        (void)!session_tick(pair->master.session, pair->now_ms, NULL);
    if (session_next_tick_ms(pair->slave.session) <= pair->now_ms)
        (void)!session_tick(pair->slave.session, pair->now_ms, NULL);
}

static void check_bounds(const struct side *side)
{
    if (session_owed(side->session) >= WINDOW_BYTES + FRAME_HEADER_BYTES + FRAME_MAX_BYTES)
        abort();
    if (side->rc && session_state(side->session) != SESSION_FAILED)
        abort();
}

static void act(struct pair *pair, unsigned what, unsigned how, struct script *script)
{
    switch ((enum action)(what % ACT_COUNT)) {
    case ACT_DELIVER:
        pair_run(pair);
        return;
    case ACT_PIECES:
        pair_run_in(pair, how + 1U);
        return;
    case ACT_SLAVE_SENDS:
        send_control(&pair->slave, MSG_FROM_SLAVE, how);
        return;
    case ACT_MASTER_SENDS:
        send_control(&pair->master, MSG_FROM_MASTER, how);
        return;
    case ACT_RECORD:
        send_record(&pair->slave, how);
        return;
    case ACT_GRANT:
        grant(&pair->master, how);
        return;
    case ACT_TIME:
        pass_time(pair, how);
        return;
    case ACT_PROBE:
        session_probe(pair->master.session, pair->now_ms, how * 100ULL);
        return;
    case ACT_DECIDE:
        decide(&pair->master, how);
        return;
    case ACT_RAW_TO_MASTER:
        side_input(&pair->master, take(script, how), pair->now_ms);
        return;
    case ACT_RAW_TO_SLAVE:
        side_input(&pair->slave, take(script, how), pair->now_ms);
        return;
    case ACT_FORGED_TO_MASTER:
        forge(&pair->master, how, pair->now_ms);
        return;
    case ACT_FORGED_TO_SLAVE:
        forge(&pair->slave, how, pair->now_ms);
        return;
    case ACT_STOP:
        session_stop(how & 1 ? pair->master.session : pair->slave.session);
        return;
    case ACT_COUNT:
        return;
    }
}

/* The first byte: does the slave have a secret, the master, does its owner answer late, does it
 * give credit back. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct script script = {data, size};
    struct pair pair;
    uint8_t flags;

    if (size < 1)
        return 0;
    flags = (uint8_t)take(&script, 1).p[0];
    pair_init(&pair, flags & 1 ? "s3cret" : NULL, WINDOW_BYTES);
    if (flags & 2)
        pair.master.secrets[pair.master.n_secrets++] = view_of("s3cret");
    pair.master.later = flags & 4;
    pair.master.grants = flags & 8;
    pair_hello(&pair);
    while (script.n >= 2) {
        struct view step = take(&script, 2);

        act(&pair, (uint8_t)step.p[0], (uint8_t)step.p[1], &script);
        check_bounds(&pair.master);
        check_bounds(&pair.slave);
        str_clear(&pair.slave.heard);
        if (!strstr(str_cstr(&pair.master.heard), "challenged"))
            str_clear(&pair.master.heard);
    }
    pair_release(&pair);
    return 0;
}
