/* What an RP2350 has and the simulated board has not. */
#ifndef CHIP_H
#define CHIP_H

#include <stdbool.h>
#include <stdint.h>

#define CHIP_CLOCK 150000000 /* Hz, of the cores and UART0 */

/* Finds out whether this is one; the functions below need it to be. */
bool chip_is_there(void);

/* Clocks, watchdog, cycle counter, UART0. */
void chip_start(void);

/* Cycles of the core; what passes between two calls must be less than 28 seconds. */
uint64_t chip_cycles(void);

/* Gives the watchdog another 16 seconds. */
void chip_feed_watchdog(void);

#endif
