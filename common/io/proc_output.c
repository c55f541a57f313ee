#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/io/proc_impl.h"

enum {
    PROC_PIPE_BYTES = 1024 * 1024,
    PROC_READS = 16, /* in one callback, so that a loud child does not hold the loop */
};

static void channel_on_handle_closed(uv_handle_t *handle)
{
    struct channel *channel = handle->data;

    channel->proc->open_handles--;
    proc_settle(channel->proc);
}

void channel_close(struct channel *channel)
{
    if (!channel->open)
        return;
    channel->open = false;
    uv_close((uv_handle_t *)&channel->poll, channel_on_handle_closed);
    (void)close(channel->fd);
}

/* What one read() has brought. False when there is nothing more to read now. */
static bool channel_take(struct channel *channel, size_t asked, ssize_t n)
{
    struct proc *proc = channel->proc;

    if (n < 0 && errno == EINTR)
        return true;
    if (n < 0 && errno == EAGAIN && !proc->drain_over)
        return false;
    if (n <= 0) {
        channel_close(channel);
        return false;
    }
    if (proc->ops)
        proc->ops->on_output(proc->owner, channel->id,
                             view_bytes(proc->table->loop->read_buffer, (size_t)n));
    if (!proc->drain_over)
        return (size_t)n == asked; /* less than asked: the pipe is empty */
    channel->left -= (size_t)n;
    if (channel->left == 0)
        channel_close(channel);
    return true;
}

static void channel_read(struct channel *channel)
{
    struct proc *proc = channel->proc;
    bool more = true;
    int i;

    for (i = 0; i < PROC_READS && more && channel->open && !proc->paused; i++) {
        size_t asked = LOOP_READ_BYTES;

        if (proc->drain_over && channel->left < asked)
            asked = channel->left;
        more =
            channel_take(channel, asked, read(channel->fd, proc->table->loop->read_buffer, asked));
    }
}

static void channel_on_ready(uv_poll_t *poll, int status, int events)
{
    (void)status; /* read() says it as well */
    (void)events;
    channel_read(poll->data);
}

void channel_poll(struct channel *channel, bool on)
{
    if (!channel->open)
        return;
    if (on)
        (void)uv_poll_start(&channel->poll, UV_READABLE, channel_on_ready);
    else
        (void)uv_poll_stop(&channel->poll);
}

size_t channel_waiting(const struct channel *channel)
{
    int n = 0;

    if (!channel->open || ioctl(channel->fd, FIONREAD, &n) != 0)
        return 0;
    return (size_t)n;
}

/* All that the child wrote is among what the pipes hold now; what others write from here on is not
 * waited for. */
static void proc_end_drain(struct proc *proc)
{
    int i;

    proc->drain_over = true;
    for (i = 0; i < proc->n_channels; i++) {
        struct channel *channel = &proc->channels[i];

        channel->left = channel_waiting(channel);
        if (channel->left == 0)
            channel_close(channel);
    }
}

void proc_on_drain(struct timer *timer, void *owner)
{
    struct proc *proc = owner;
    int i;

    if (!proc->drain_over)
        proc_end_drain(proc);
    for (i = 0; i < proc->n_channels; i++) {
        channel_read(&proc->channels[i]);
        if (proc->channels[i].open && !proc->paused)
            timer_start(timer, 0, 0);
    }
}

enum err_code proc_add_channel(struct proc *proc, int *write_end, struct err *err)
{
    struct channel *channel = &proc->channels[proc->n_channels];
    int ends[2], rc;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set_sys(err, errno, "make a pipe");
    (void)fcntl(ends[0], F_SETPIPE_SZ, PROC_PIPE_BYTES); /* more than an unprivileged user may */
    rc = uv_poll_init(&proc->table->loop->uv, &channel->poll, ends[0]);
    if (rc) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return err_set_sys(err, -rc, "watch a pipe");
    }
    channel->proc = proc;
    channel->id = proc->n_channels == 0 ? PROC_OUT : PROC_ERR;
    channel->fd = ends[0];
    channel->open = true;
    channel->poll.data = channel;
    proc->n_channels++;
    proc->open_handles++;
    *write_end = ends[1];
    return ERR_OK;
}
