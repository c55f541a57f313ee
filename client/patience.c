#include "client/patience.h"

#include "client/api.h"

bool patience_heard(struct patience *p)
{
    bool was_away = p->away;

    p->contact = true;
    p->away = false;
    p->heard_ms = clock_mono_ms(p->clock);
    p->retry = (struct retry)RETRY_INIT;
    return was_away;
}

enum patience_says patience_judge(struct patience *p, enum err_code rc)
{
    if (!p->contact || !api_worth_retrying(rc))
        return PATIENCE_OVER;
    if (clock_mono_ms(p->clock) - p->heard_ms > p->most_ms)
        return PATIENCE_OVER;
    if (rc == ERR_TIMEOUT || p->away)
        return PATIENCE_AGAIN;
    p->away = true;
    return PATIENCE_TELL;
}

void patience_pause(struct patience *p)
{
    retry_sleep(retry_next_ms(&p->retry));
}
