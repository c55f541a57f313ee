#include <stdio.h>
#include <string.h>

#include "wordbag.h"

static int failed, number;

static void check(int good, const char *what)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++number, what);
    failed += !good;
}

static size_t count(const struct wordbag *bag, const char *word)
{
    return wordbag_count(bag, word, strlen(word));
}

int main(void)
{
    struct wordbag *bag = wordbag_new();
    const char text[] = "the mill, the wheel and the race";
    char word[32];

    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..5\n");
    check(wordbag_size(bag) == 0, "a new bag is empty");
    wordbag_add_text(bag, text, strlen(text));
    check(count(bag, "the") == 3, "words are counted");
    check(count(bag, "sluice") == 0, "a word that is not there counts 0");
    check(wordbag_size(bag) == 5, "different words are counted once");
    for (int i = 0; i < 10000; i++) {
        int n = snprintf(word, sizeof word, "word%d", i);

        wordbag_add(bag, word, (size_t)n);
    }
    check(wordbag_size(bag) == 10005 && count(bag, "word9999") == 1, "the table grows");
    wordbag_free(bag);
    return failed != 0;
}
