/*
 * Any bytes as a message: refused with a sentence, or decoded to something that encodes, decodes
 * again to the same, and prints in one line.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUT_MAX_BYTES = 64 << 20 };

static void check_print(const struct msg *msg)
{
    struct str line = STR_INIT(OUT_MAX_BYTES);

    msg_print(msg, &line);
    if (line.n == 0 || memchr(line.p, '\n', line.n))
        abort();
    str_release(&line);
}

static void check_round_trip(const struct msg *msg)
{
    struct msg_arena *arena = msg_arena_new();
    struct str first = STR_INIT(OUT_MAX_BYTES);
    struct str second = STR_INIT(OUT_MAX_BYTES);
    struct msg again;

    /* What came in just below the limit of values may be above it with its missing fields filled
     * in. */
    if (msg_encode(msg, &first, NULL) != ERR_OK)
        goto done;
    if (msg_decode(arena, str_view(&first), &again, NULL) != ERR_OK ||
        msg_encode(&again, &second, NULL) != ERR_OK ||
        !view_equal(str_view(&first), str_view(&second)))
        abort();
done:
    str_release(&first);
    str_release(&second);
    msg_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct msg_arena *arena = msg_arena_new();
    struct err err = ERR_INIT;
    struct msg msg;
    enum err_code rc = msg_decode(arena, view_bytes(data, size), &msg, &err);

    if (rc != ERR_OK && (rc != ERR_PROTO || err.msg[0] == '\0'))
        abort();
    if (rc == ERR_OK) {
        check_print(&msg);
        check_round_trip(&msg);
    }
    msg_arena_free(arena);
    return 0;
}
