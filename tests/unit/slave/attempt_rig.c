#include "tests/unit/slave/attempt_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/io/fsx.h"
#include "common/io/proc.h"
#include "slave/pscan.h"
#include "slave/sandbox.h"

enum { LOG_MAX = 256 << 20 };

static void on_record(void *owner, struct journal *journal)
{
    (void)owner;
    (void)journal;
}

static void on_room(void *owner)
{
    struct rig *rig = owner;

    rig->room = true;
}

static const struct spool_ops spool_callbacks = {.on_record = on_record, .on_room = on_room};

static void on_finished(void *owner)
{
    struct rig *rig = owner;

    rig->runner = NULL;
}

static const struct runner_ops runner_callbacks = {.on_finished = on_finished};

static unsigned rigs;

void rig_open(struct rig *rig)
{
    struct err err = ERR_INIT;

    memset(rig, 0, sizeof *rig);
    (void)alarm(RIG_SECONDS);
    /* Commands inherit it: no folder in it that only somebody else may search. */
    (void)setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
    (void)snprintf(rig->dir, sizeof rig->dir, "/tmp/tailrace-rig-XXXXXX");
    assert_non_null(mkdtemp(rig->dir));
    (void)snprintf(rig->mark, sizeof rig->mark, "rig%d-%u", (int)getpid(), rigs++);
    assert_int_equal(loop_init(&rig->loop, clock_system(), &err), ERR_OK);
    rig->cgroup = sandbox_setup(rig->mark);
    rig->use_cgroup = true;
    rig->keep_up = true;
    rig->spool_limit_bytes = 1 << 30;
    rig->arena = msg_arena_new();
}

static void reset(struct rig *rig)
{
    unsigned i;

    for (i = 0; i <= RIG_STEPS_MAX; i++) {
        str_release(&rig->steps[i].log[0]);
        str_release(&rig->steps[i].log[1]);
        memset(&rig->steps[i], 0, sizeof rig->steps[i]);
        rig->steps[i].log[0].max = rig->steps[i].log[1].max = LOG_MAX;
    }
    rig->attempts_started = 0;
    rig->finished = false;
    rig->result = RESULT_NONE;
    rig->reason[0] = rig->revision[0] = '\0';
    rig->points.n = 0;
}

void rig_close(struct rig *rig)
{
    struct err err = ERR_INIT;

    assert_null(rig->runner);
    reset(rig);
    vec_release(&rig->points);
    if (rig->journal)
        journal_drop(rig->journal);
    spool_close(rig->spool);
    proc_table_close(&rig->loop);
    loop_release(&rig->loop);
    msg_arena_free(rig->arena);
    if (rig->cgroup)
        assert_false(fs_exists(rig->cgroup)); /* it goes with the last sandbox in it */
    free(rig->cgroup);
    assert_int_equal(fs_remove_tree(rig->dir, &err), ERR_OK);
    (void)alarm(0);
}

struct msg_start rig_job(const struct msg_step *steps, size_t n)
{
    return (struct msg_start){
        .build = 7,
        .attempt = 1,
        .builder = view_of("b"),
        .project = view_of("p"),
        .branch = view_of("master"),
        .url = view_of("http://ci.example.org/builds/7"),
        .steps = {.v = steps, .n = n},
    };
}

struct msg_step rig_shell(const char *name, const char *text)
{
    return (struct msg_step){.name = view_of(name), .kind = STEP_TEST, .shell = view_of(text)};
}

void rig_start(struct rig *rig, const struct msg_start *start)
{
    struct err err = ERR_INIT;
    struct job *job = NULL;

    reset(rig);
    if (!rig->spool)
        assert_int_equal(
            spool_open(rig->dir, rig->spool_limit_bytes, &spool_callbacks, rig, &rig->spool, &err),
            ERR_OK);
    if (rig->journal)
        journal_drop(rig->journal);
    assert_int_equal(job_new(start, &job, &err), ERR_OK);
    assert_int_equal(journal_create(rig->spool,
                                    &(struct journal_of){.build = start->build,
                                                         .attempt = start->attempt,
                                                         .n_steps = (uint32_t)start->steps.n},
                                    &rig->journal, &err),
                     ERR_OK);
    rig->host = (struct runner_host){
        .loop = &rig->loop,
        .dir = rig->dir,
        .name = "slave-1",
        .mark = rig->mark,
        .cgroup = rig->use_cgroup ? rig->cgroup : NULL,
    };
    rig->runner = runner_start(&rig->host, job, rig->journal, &runner_callbacks, rig);
}

static void take_block(struct rig *rig, const struct msg_log_block *block)
{
    struct str *log = &rig->steps[block->step].log[block->stream];
    char *out = str_room(log, block->size);
    z_stream z = {0};

    assert_int_equal(block->offset, log->n);
    assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
    z.next_in = (unsigned char *)block->data.p;
    z.avail_in = (uInt)block->data.n;
    z.next_out = (unsigned char *)out;
    z.avail_out = block->size;
    (void)inflate(&z, Z_SYNC_FLUSH);
    assert_int_equal(z.avail_out, 0);
    (void)inflateEnd(&z);
    str_grew(log, block->size);
}

static void copy_text(char *out, size_t size, struct view text)
{
    (void)snprintf(out, size, "%.*s", VIEW_ARG(text));
}

static void take_points(struct rig *rig, const struct msg_points *points)
{
    size_t i;

    for (i = 0; i < points->points.n; i++) {
        const struct msg_point *from = &points->points.v[i];
        struct rig_point *to = vec_add(&rig->points);

        copy_text(to->suite, sizeof to->suite, from->suite);
        copy_text(to->test, sizeof to->test, from->test);
        copy_text(to->metric, sizeof to->metric, from->metric);
        copy_text(to->unit, sizeof to->unit, from->unit);
        to->better = from->better;
        to->iteration = from->iteration;
        to->value = from->value;
    }
}

static void take_step_finished(struct rig *rig, const struct msg_step_finished *finished)
{
    struct rig_step *step = &rig->steps[finished->step];

    step->finished = true;
    step->result = (enum build_result)finished->result;
    step->exit_code = finished->exit_code;
    step->killed = finished->killed;
    step->user_s = finished->user_s;
    step->system_s = finished->system_s;
    step->max_rss_bytes = finished->max_rss_bytes;
    copy_text(step->reason, sizeof step->reason, finished->reason);
}

static void take_record(struct rig *rig, const struct msg *msg)
{
    if (msg->type == REC_ATTEMPT_STARTED) {
        rig->attempts_started++;
    } else if (msg->type == REC_STEP_STARTED) {
        rig->steps[msg->u.step_started.step].started = true;
    } else if (msg->type == REC_LOG_BLOCK) {
        take_block(rig, &msg->u.log_block);
    } else if (msg->type == REC_POINTS) {
        take_points(rig, &msg->u.points);
    } else if (msg->type == REC_REVISION) {
        copy_text(rig->revision, sizeof rig->revision, msg->u.revision.revision);
    } else if (msg->type == REC_STEP_FINISHED) {
        take_step_finished(rig, &msg->u.step_finished);
    } else {
        assert_int_equal(msg->type, REC_ATTEMPT_FINISHED);
        rig->finished = true;
        rig->result = (enum build_result)msg->u.attempt_finished.result;
        copy_text(rig->reason, sizeof rig->reason, msg->u.attempt_finished.reason);
    }
}

static void read_journal(struct rig *rig)
{
    struct journal_entry entry;
    struct err err = ERR_INIT;

    while (journal_peek(rig->journal, &entry, &err) == ERR_OK) {
        struct msg msg;
        uint64_t number = entry.number;

        assert_int_equal(msg_decode(rig->arena, entry.body, &msg, &err), ERR_OK);
        take_record(rig, &msg);
        journal_sent(rig->journal);
        if (rig->keep_up)
            journal_ack(rig->journal, number);
    }
}

/* As the agent does when the master has acknowledged something. */
static void resume(struct rig *rig)
{
    read_journal(rig);
    while (rig->room && rig->runner) {
        rig->room = false;
        runner_resume(rig->runner);
        read_journal(rig);
    }
}

void rig_turn(struct rig *rig)
{
    resume(rig);
    if (rig->runner)
        loop_run_once(&rig->loop, true);
    resume(rig);
}

void rig_finish(struct rig *rig)
{
    while (rig->runner)
        rig_turn(rig);
    read_journal(rig);
    assert_int_equal(rig_strays(rig), 0);
}

void rig_run(struct rig *rig, const struct msg_start *start)
{
    rig_start(rig, start);
    rig_finish(rig);
}

const char *rig_log(struct rig *rig, uint32_t step)
{
    return str_cstr(&rig->steps[step].log[0]);
}

bool rig_log_has(struct rig *rig, uint32_t step, const char *text)
{
    return strstr(rig_log(rig, step), text) != NULL;
}

void rig_until_log(struct rig *rig, uint32_t step, const char *text)
{
    while (!rig_log_has(rig, step, text)) {
        assert_non_null(rig->runner);
        rig_turn(rig);
    }
}

size_t rig_strays(const struct rig *rig)
{
    char prefix[80];
    pscan_list all = {0};
    size_t n = 0;
    size_t i;

    (void)snprintf(prefix, sizeof prefix, "TAILRACE_MARK=%s/", rig->mark);
    pscan_all(&all);
    for (i = 0; i < all.n; i++)
        n += pscan_env_starts(all.v[i].pid, prefix);
    vec_release(&all);
    return n;
}

char *rig_path(const struct rig *rig, const char *name)
{
    return fs_join(rig->dir, name);
}

struct shell {
    struct str out;
    bool done;
    int code;
};

static void shell_on_output(void *owner, enum proc_channel channel, struct view bytes)
{
    struct shell *shell = owner;

    (void)channel;
    str_put_view(&shell->out, bytes);
}

static void shell_on_finished(void *owner, const struct proc_exit *exit)
{
    struct shell *shell = owner;

    shell->done = true;
    shell->code = exit->code;
}

char *rig_sh(struct rig *rig, const char *text)
{
    static const struct proc_ops ops = {.on_output = shell_on_output,
                                        .on_finished = shell_on_finished};
    char *argv[] = {"/bin/sh", "-ec", (char *)text, NULL};
    char *env[] = {"PATH=/usr/local/bin:/usr/bin:/bin",
                   "HOME=/nonexistent",
                   "GIT_CONFIG_NOSYSTEM=1",
                   "GIT_AUTHOR_NAME=a",
                   "GIT_AUTHOR_EMAIL=a@example.org",
                   "GIT_COMMITTER_NAME=a",
                   "GIT_COMMITTER_EMAIL=a@example.org",
                   NULL};
    struct proc_spec spec = {.argv = argv, .env = env, .dir = rig->dir, .drain_ms = 1000};
    struct shell shell = {.out = STR_INIT(1 << 20)};
    struct proc *proc;
    struct err err = ERR_INIT;

    assert_int_equal(proc_start(&rig->loop, &spec, &ops, &shell, &proc, &err), ERR_OK);
    while (!shell.done)
        loop_run_once(&rig->loop, true);
    if (shell.code != 0)
        print_error("%s\n", str_cstr(&shell.out));
    assert_int_equal(shell.code, 0);
    while (shell.out.n > 0 && shell.out.p[shell.out.n - 1] == '\n')
        str_cut(&shell.out, shell.out.n - 1);
    if (shell.out.n == 0)
        str_put(&shell.out, "");
    return shell.out.p ? str_detach(&shell.out) : xstrdup("");
}
