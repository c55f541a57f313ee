#include "common/base/ident.h"

#include "common/base/crypt.h"

enum { NAME_MAX_BYTES = 64 };

void ident_new(int64_t wall_ms, char out[IDENT_MAX])
{
    uint8_t bytes[16];

    crypt_random(bytes, sizeof bytes);
    for (int i = 0; i < 6; i++)
        bytes[i] = (uint8_t)((uint64_t)wall_ms >> (8 * (5 - i)));
    crypt_hex(bytes, sizeof bytes, out);
}

/* Not isalnum(): the locale has no say in what a name is. */
static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool ident_is_name(struct view name)
{
    if (name.n < 1 || name.n > NAME_MAX_BYTES)
        return false;
    if (name.p[0] == '.' || name.p[0] == '-')
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!is_letter_or_digit(c) && c != '.' && c != '_' && c != '-')
            return false;
    }
    return true;
}
