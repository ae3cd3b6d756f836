/* Parts of the RP2350 that the simulated board lacks. */
#ifndef CHIP_H
#define CHIP_H

#include <stdbool.h>
#include <stdint.h>

#define CHIP_CLOCK 150000000 /* Hz, of the cores and UART0 */

/* Whether this is an RP2350, as the functions below require. */
bool chip_is_there(void);

/* Clocks, watchdog, cycle counter, UART0. */
void chip_start(void);

/* Cycles of the core; must be called at least every 28 seconds. */
uint64_t chip_cycles(void);

/* Gives the watchdog another 16 seconds. */
void chip_feed_watchdog(void);

#endif
