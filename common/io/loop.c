#include "common/io/loop.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/io/timer.h"

enum err_code loop_init(struct loop *loop, const struct clock *clock, struct err *err)
{
    int rc;

    memset(loop, 0, sizeof *loop);
    rc = uv_loop_init(&loop->uv);
    if (rc)
        return err_set_sys(err, -rc, "make an event loop");
    loop->clock = clock;
    loop->read_buffer = xmalloc(LOOP_READ_BYTES);
    (void)uv_timer_init(&loop->uv, &loop->next_timer);
    (void)signal(SIGPIPE, SIG_IGN);
    return ERR_OK;
}

/* loop_pass() runs the timers. uv may call this before it polls, and would then wait without end:
 * uv_stop() makes it only look. */
static void loop_on_wake(uv_timer_t *handle)
{
    uv_stop(handle->loop);
}

/* Started once a pass and not by timer_start(), so that starting and stopping timers costs no call
 * into uv. */
static void loop_arm(struct loop *loop)
{
    uint64_t now_ms, due_ms;

    if (loop->n_timers == 0) {
        (void)uv_timer_stop(&loop->next_timer);
        return;
    }
    now_ms = loop_now_ms(loop);
    due_ms = loop->timers[0]->due_ms;
    (void)uv_timer_start(&loop->next_timer, loop_on_wake, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

/* False when nothing is left that could call back. */
static bool loop_pass(struct loop *loop, uv_run_mode mode)
{
    loop_arm(loop);
    (void)uv_run(&loop->uv, mode);
    timers_run_due(loop);
    if (loop->n_timers > 0)
        return true;
    (void)uv_timer_stop(&loop->next_timer);
    return uv_loop_alive(&loop->uv) != 0;
}

void loop_run(struct loop *loop)
{
    while (!loop->stopping && loop_pass(loop, UV_RUN_ONCE))
        ;
    loop->stopping = false;
}

void loop_run_once(struct loop *loop, bool wait)
{
    (void)loop_pass(loop, wait ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    loop->stopping = false;
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
}

static void loop_refuse_open(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (uv_is_closing(handle))
        return;
    log_error("loop.left_open", LOG_STR("handle", uv_handle_type_name(handle->type)));
    abort();
}

void loop_release(struct loop *loop)
{
    uv_close((uv_handle_t *)&loop->next_timer, NULL);
    /* A closing callback may close or open others: looked at anew in each pass, since waiting for
     * an open one could last for ever. */
    do {
        uv_walk(&loop->uv, loop_refuse_open, NULL);
        (void)uv_run(&loop->uv, UV_RUN_ONCE);
    } while (uv_loop_alive(&loop->uv));
    if (uv_loop_close(&loop->uv) != 0)
        abort();
    while (loop->n_timers > 0)
        timer_stop(loop->timers[loop->n_timers - 1]);
    free(loop->timers);
    free(loop->read_buffer);
    memset(loop, 0, sizeof *loop);
}

uint64_t loop_now_ms(const struct loop *loop)
{
    return clock_mono_ms(loop->clock);
}

int64_t loop_wall_ms(const struct loop *loop)
{
    return clock_wall_ms(loop->clock);
}
