#include "tests/support/fake_clock.h"

static uint64_t fake_mono_ms(const struct clock *clock)
{
    return ((const struct fake_clock *)clock)->mono_ms;
}

static int64_t fake_wall_ms(const struct clock *clock)
{
    return ((const struct fake_clock *)clock)->wall_ms;
}

void fake_clock_init(struct fake_clock *fake, uint64_t mono_ms, int64_t wall_ms)
{
    fake->clock = (struct clock){fake_mono_ms, fake_wall_ms};
    fake->mono_ms = mono_ms;
    fake->wall_ms = wall_ms;
}

void fake_clock_advance(struct fake_clock *fake, uint64_t ms)
{
    fake->mono_ms += ms;
    fake->wall_ms += (int64_t)ms;
}

void fake_clock_set_wall(struct fake_clock *fake, int64_t wall_ms)
{
    fake->wall_ms = wall_ms;
}
