#include "common/io/work.h"

#include <stdlib.h>

#include "common/base/mem.h"

struct work {
    uv_work_t req;
    void (*run)(void *arg);
    void (*done)(void *arg);
    void *arg;
};

static void work_on_run(uv_work_t *req)
{
    struct work *work = req->data;

    work->run(work->arg);
}

static void work_on_done(uv_work_t *req, int status)
{
    struct work *work = req->data;
    void (*done)(void *arg) = work->done;
    void *arg = work->arg;

    (void)status; /* never cancelled */
    free(work);
    done(arg);
}

void work_start(struct loop *loop, void (*run)(void *arg), void (*done)(void *arg), void *arg)
{
    struct work *work = xcalloc(1, sizeof *work);

    work->run = run;
    work->done = done;
    work->arg = arg;
    work->req.data = work;
    (void)uv_queue_work(&loop->uv, &work->req, work_on_run, work_on_done);
}
