#include "wordbag.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    char *word;
    size_t n, count;
};

struct wordbag {
    struct entry *entries;
    size_t capacity, size;
};

static size_t hash(const char *word, size_t n)
{
    uint64_t h = 1469598103934665603ull; /* FNV-1a */

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)word[i]) * 1099511628211ull;
    return (size_t)h;
}

struct wordbag *wordbag_new(void)
{
    struct wordbag *bag = calloc(1, sizeof *bag);

    if (!bag)
        return NULL;
    bag->capacity = 64;
    bag->entries = calloc(bag->capacity, sizeof *bag->entries);
    if (!bag->entries) {
        free(bag);
        return NULL;
    }
    return bag;
}

void wordbag_free(struct wordbag *bag)
{
    if (!bag)
        return;
    for (size_t i = 0; i < bag->capacity; i++)
        free(bag->entries[i].word);
    free(bag->entries);
    free(bag);
}

static struct entry *find(const struct wordbag *bag, const char *word, size_t n)
{
    size_t i = hash(word, n) & (bag->capacity - 1);

    while (bag->entries[i].word &&
           (bag->entries[i].n != n || memcmp(bag->entries[i].word, word, n) != 0))
        i = (i + 1) & (bag->capacity - 1);
    return &bag->entries[i];
}

static int grow(struct wordbag *bag)
{
    struct wordbag larger = {calloc(bag->capacity * 2, sizeof *larger.entries), bag->capacity * 2,
                             bag->size};

    if (!larger.entries)
        return -1;
    for (size_t i = 0; i < bag->capacity; i++) {
        if (bag->entries[i].word)
            *find(&larger, bag->entries[i].word, bag->entries[i].n) = bag->entries[i];
    }
    free(bag->entries);
    *bag = larger;
    return 0;
}

int wordbag_add(struct wordbag *bag, const char *word, size_t n)
{
    struct entry *entry;

    if (bag->size * 4 >= bag->capacity * 3 && grow(bag) != 0)
        return -1;
    entry = find(bag, word, n);
    if (!entry->word) {
        entry->word = malloc(n + 1);
        if (!entry->word)
            return -1;
        memcpy(entry->word, word, n);
        entry->word[n] = '\0';
        entry->n = n;
        bag->size++;
    }
    entry->count++;
    return 0;
}

size_t wordbag_count(const struct wordbag *bag, const char *word, size_t n)
{
    return find(bag, word, n)->count;
}

size_t wordbag_size(const struct wordbag *bag)
{
    return bag->size;
}

int wordbag_add_text(struct wordbag *bag, const char *text, size_t n)
{
    size_t begin = 0;

    for (size_t i = 0; i <= n; i++) {
        if (i < n && isalpha((unsigned char)text[i]))
            continue;
        if (i > begin && wordbag_add(bag, text + begin, i - begin) != 0)
            return -1;
        begin = i + 1;
    }
    return 0;
}
