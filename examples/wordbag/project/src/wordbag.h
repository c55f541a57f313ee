/*
 * wordbag: counts words. A hash table with open addressing.
 */
#ifndef WORDBAG_H
#define WORDBAG_H

#include <stddef.h>

struct wordbag;

struct wordbag *wordbag_new(void);
void wordbag_free(struct wordbag *bag);
/* Counts one more of the n bytes at word. Returns 0, or -1 when out of memory. */
int wordbag_add(struct wordbag *bag, const char *word, size_t n);
/* How often the word was added. */
size_t wordbag_count(const struct wordbag *bag, const char *word, size_t n);
/* How many different words there are. */
size_t wordbag_size(const struct wordbag *bag);
/* Adds each run of letters in the text. */
int wordbag_add_text(struct wordbag *bag, const char *text, size_t n);

#endif
