#include "client/retry.h"

#include <errno.h>
#include <time.h>

#include "common/base/crypt.h"

enum { RETRY_FIRST_MS = 250, RETRY_DOUBLINGS = 5 };

uint64_t retry_base_ms(unsigned tries)
{
    return (uint64_t)RETRY_FIRST_MS << (tries < RETRY_DOUBLINGS ? tries : RETRY_DOUBLINGS);
}

uint64_t retry_next_ms(struct retry *retry)
{
    uint64_t half = retry_base_ms(retry->tries) / 2;
    uint32_t random;

    crypt_random(&random, sizeof random);
    retry->tries++;
    return half + random % (half + 1);
}

void retry_sleep(uint64_t ms)
{
    struct timespec left = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}
