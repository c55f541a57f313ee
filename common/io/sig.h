/*
 * sig: a signal as an event on the loop.
 */
#ifndef TAILRACE_COMMON_IO_SIG_H
#define TAILRACE_COMMON_IO_SIG_H

#include "common/io/loop.h"

struct sig {
    uv_signal_t uv;
    void (*fn)(void *owner, int signal);
    void *owner;
};

/* fn is called from the loop for each signal. The watch does not keep the loop alive. */
enum err_code sig_open(struct sig *sig, struct loop *loop, int signal,
                       void (*fn)(void *owner, int signal), void *owner,
                       struct err *err) TAILRACE_MUST_CHECK;
/* The memory may go only after the next pass of the loop (loop_release runs one). */
void sig_close(struct sig *sig);

#endif
