/*
 * genlog BYTES [SEED]: writes so many bytes of build-log text to standard output.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/base/text.h"
#include "tests/bench/logtext.h"

enum { PIECE_BYTES = 1 << 20 };

int main(int argc, char **argv)
{
    struct logtext text;
    struct err err = ERR_INIT;
    uint64_t bytes = 0;
    uint64_t seed = 7;
    char *piece;

    if (argc < 2 || argc > 3 || text_size(view_of(argv[1]), &bytes, &err) ||
        (argc == 3 && text_u64(view_of(argv[2]), 1, UINT64_MAX, &seed, &err))) {
        (void)fprintf(stderr, "usage: genlog BYTES [SEED]\n");
        return 2;
    }
    piece = xmalloc(PIECE_BYTES);
    logtext_init(&text, seed);
    while (bytes > 0) {
        size_t n = bytes < PIECE_BYTES ? (size_t)bytes : PIECE_BYTES;

        logtext_fill(&text, piece, n);
        if (fwrite(piece, 1, n, stdout) != n)
            break;
        bytes -= n;
    }
    free(piece);
    if (bytes > 0 || fflush(stdout)) {
        perror("genlog");
        return 1;
    }
    return 0;
}
