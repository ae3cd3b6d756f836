/* The i.MX RT1062's clock gates, pins and LPUART6. */
#ifndef CHIP_H
#define CHIP_H

#include <stdbool.h>
#include <stdint.h>

/* Whether this is an i.MX RT1062, as the functions below require. */
bool chip_is_there(void);

/* Instruction cache, cycle counter. */
void chip_start(void);

/* LPUART6 at pins 0 and 1. */
void chip_start_serial(void);

/* Cycles of the core; must be called at least every 10 seconds. */
uint64_t chip_cycles(void);

#endif
