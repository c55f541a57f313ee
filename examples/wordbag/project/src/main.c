#include <stdio.h>
#include <string.h>

#include "wordbag.h"

int main(void)
{
    struct wordbag *bag = wordbag_new();
    char line[4096];

    if (!bag)
        return 1;
    while (fgets(line, sizeof line, stdin)) {
        if (wordbag_add_text(bag, line, strlen(line)) != 0)
            return 1;
    }
    printf("%zu different words\n", wordbag_size(bag));
    wordbag_free(bag);
    return 0;
}
