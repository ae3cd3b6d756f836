/* A board whose folder has no code: the chip as it comes out of reset or its boot loader, and the core's
   cycle counter, if it has one. Input and output go through the debug probe. */
#include "cmrt/board.h"
#include "cmrt/cycle_counter.h"

#if __ARM_ARCH_ISA_THUMB >= 2 /* Armv7-M and Armv8-M Mainline */
static struct cm_cycles cycles;

void cm_board_init(void)
{
    cm_cycle_counter_start();
}

uint64_t cm_board_ticks(void)
{
    return cm_cycles(&cycles);
}
#else
void cm_board_init(void)
{
}

uint64_t cm_board_ticks(void)
{
    return 0;
}
#endif
