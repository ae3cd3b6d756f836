/* The 32-bit timer of Arm's Cortex-M System Design Kit as a clock (CMSDK TRM, "APB timer"). */
#ifndef CMRT_CMSDK_TIMER_H
#define CMRT_CMSDK_TIMER_H

#include <stdint.h>

struct cm_cmsdk_timer {
    volatile uint32_t control, value, reload, interrupt;
};
enum { CM_CMSDK_TIMER_ENABLE = 1 };

/* Extends the counter to 64 bits; must be read at least once per wrap-around. */
struct cm_clock {
    uint32_t last;
    uint64_t total;
};

static inline void cm_cmsdk_timer_start(struct cm_cmsdk_timer *timer, struct cm_clock *clock)
{
    timer->reload = UINT32_MAX;
    timer->value = UINT32_MAX;
    timer->control = CM_CMSDK_TIMER_ENABLE;
    clock->last = timer->value;
}

/* Ticks since the start; the hardware counts down. */
static inline uint64_t cm_cmsdk_timer_ticks(struct cm_cmsdk_timer *timer, struct cm_clock *clock)
{
    uint32_t now = timer->value;
    clock->total += clock->last - now;
    clock->last = now;
    return clock->total;
}

#endif
