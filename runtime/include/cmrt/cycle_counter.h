/* The core's cycle counter, if it has one (Armv7-M and Armv8-M Architecture Reference Manuals,
   "Data Watchpoint and Trace unit"). */
#ifndef CMRT_CYCLE_COUNTER_H
#define CMRT_CYCLE_COUNTER_H

#include <stdint.h>

enum {
    CM_DWT_CTRL = 0xe0001000,
    CM_DWT_CYCCNT = 0xe0001004,
    CM_DWT_LAR = 0xe0001fb0,
    CM_DEMCR = 0xe000edfc,
};

static inline volatile uint32_t *cm_core_register(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

static inline void cm_cycle_counter_start(void)
{
    *cm_core_register(CM_DEMCR) |= UINT32_C(1) << 24; /* TRCENA */
    /* A Cortex-M7 ignores writes to the unit until it is unlocked; other cores ignore this one. */
    *cm_core_register(CM_DWT_LAR) = 0xc5acce55;
    *cm_core_register(CM_DWT_CYCCNT) = 0;
    *cm_core_register(CM_DWT_CTRL) |= 1; /* CYCCNTENA */
}

/* Wraps around. */
static inline uint32_t cm_cycle_counter(void)
{
    return *cm_core_register(CM_DWT_CYCCNT);
}

/* Extends the counter to 64 bits; must be read at least once per wrap-around. */
struct cm_cycles {
    uint32_t last;
    uint64_t total;
};

/* Cycles since the counter was started. */
static inline uint64_t cm_cycles(struct cm_cycles *cycles)
{
    uint32_t now = cm_cycle_counter();
    cycles->total += now - cycles->last;
    cycles->last = now;
    return cycles->total;
}

#endif
