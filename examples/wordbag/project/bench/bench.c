/* Counts half a million words: long enough to measure, short enough to wait for. */
#include <stdio.h>

#include "wordbag.h"

int main(void)
{
    struct wordbag *bag = wordbag_new();
    char word[32];

    for (unsigned i = 0; i < 500000; i++) {
        int n = snprintf(word, sizeof word, "w%u", (i * 2654435761u) >> 12);

        if (wordbag_add(bag, word, (size_t)n) != 0)
            return 1;
    }
    printf("%zu words\n", wordbag_size(bag));
    wordbag_free(bag);
    return 0;
}
