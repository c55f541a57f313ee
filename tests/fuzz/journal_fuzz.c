/*
 * A journal file as a crash or a bad disk may leave it: its records are read, decoded and folded as
 * the slave does when it starts, and again as the master does when they are sent twice. The first
 * byte says how many steps there are.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/mem.h"
#include "proto/codec.h"
#include "proto/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_state(const struct fold *fold)
{
    unsigned running = 0;

    for (uint32_t i = 0; i < fold->n_steps; i++) {
        const struct fold_step *step = &fold->steps[i];

        running += step->state == FOLD_STEP_RUNNING;
        if (step->state == FOLD_STEP_WAITING && (step->log_bytes[0] || step->log_bytes[1]))
            abort();
        if ((step->state == FOLD_STEP_FINISHED) != (step->result != RESULT_NONE))
            abort();
        if (step->log_lines[0] > step->log_bytes[0] || step->log_lines[1] > step->log_bytes[1])
            abort();
    }
    if (running > 1 || (running && fold->finished) || (fold->last && !fold->started))
        abort();
    if (fold->finished != (fold->result != RESULT_NONE))
        abort();
}

/* A record that was applied changes nothing when it comes again; one that was refused neither. */
static void apply(struct fold *fold, uint64_t number, const struct msg *msg)
{
    size_t bytes = fold->n_steps * sizeof *fold->steps;
    uint64_t last = fold->last;
    struct fold_step *before = xmemdup(fold->steps, bytes);
    struct err err = ERR_INIT;
    enum err_code rc = fold_apply(fold, number, msg, &err);

    if (rc != ERR_OK) {
        if (fold->last != last || (bytes && memcmp(before, fold->steps, bytes) != 0))
            abort();
    } else if (fold->last != last + 1 || fold_apply(fold, number, msg, &err) != ERR_EXISTS) {
        abort();
    }
    check_state(fold);
    free(before);
}

static void read_file(struct view file, struct fold *fold, bool renumber)
{
    struct msg_arena *arena = msg_arena_new();
    struct journal_entry entry;
    struct msg msg;

    while (journal_next(&file, &entry, NULL) == ERR_OK) {
        if (msg_decode(arena, entry.body, &msg, NULL) == ERR_OK)
            apply(fold, renumber ? fold->last + 1 : entry.number, &msg);
    }
    msg_arena_free(arena);
}

/* The same without checksums, so that the records themselves can be mutated: a length byte and a
 * body each. */
static void read_bodies(struct view rest, struct fold *fold)
{
    struct msg_arena *arena = msg_arena_new();
    struct msg msg;

    while (rest.n > 1) {
        size_t n = (unsigned char)rest.p[0];

        n = n < rest.n - 1 ? n : rest.n - 1;
        if (msg_decode(arena, view_bytes(rest.p + 1, n), &msg, NULL) == ERR_OK)
            apply(fold, fold->last + 1, &msg);
        rest.p += n + 1;
        rest.n -= n + 1;
    }
    msg_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fold fold;
    struct view rest;

    if (size < 2)
        return 0;
    rest = view_bytes(data + 2, size - 2);
    fold_init(&fold, data[0] % 8);
    if (data[1] & 1)
        read_bodies(rest, &fold);
    else
        read_file(rest, &fold, data[1] & 2);
    fold_release(&fold);
    return 0;
}
