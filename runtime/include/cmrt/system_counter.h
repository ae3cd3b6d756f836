/* The system counter of Arm's Corstone SSE-300 family as a clock (SSE-300 TRM, "Timestamp-based system
   timers"): its control frame at 0x58100000 has the enable bit in CNTCR, its status frame at 0x48101000
   the 64-bit count. */
#ifndef CMRT_SYSTEM_COUNTER_H
#define CMRT_SYSTEM_COUNTER_H

#include <stdint.h>

static inline void cm_system_counter_start(void)
{
    *(volatile uint32_t *)0x58100000 = 1;
}

static inline uint64_t cm_system_counter_ticks(void)
{
    const volatile uint32_t *value = (const volatile uint32_t *)0x48101000;
    uint32_t low;
    uint32_t high;
    do {
        high = value[1];
        low = value[0];
    } while (high != value[1]);
    return ((uint64_t)high << 32) | low;
}

#endif
