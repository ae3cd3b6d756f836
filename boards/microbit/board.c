/* The nRF51 of a BBC micro:bit. */
#include "cmrt/board.h"

/* TIMER0 (nRF51 Series Reference Manual, "Timer/counter"): 32 bits at 16 MHz. */
static volatile uint32_t *const timer = (volatile uint32_t *)0x40008000;
enum {
    TASKS_START = 0x000 / 4,
    TASKS_CAPTURE0 = 0x040 / 4,
    BITMODE = 0x508 / 4,
    PRESCALER = 0x510 / 4,
    CC0 = 0x540 / 4
};
enum { BITMODE_32 = 3 };

static uint32_t last;
static uint64_t total;

void cm_board_init(void)
{
    timer[BITMODE] = BITMODE_32;
    timer[PRESCALER] = 0;
    timer[TASKS_START] = 1;
}

uint64_t cm_board_ticks(void)
{
    timer[TASKS_CAPTURE0] = 1;
    uint32_t now = timer[CC0];
    total += now - last;
    last = now;
    return total;
}
