/* STM32H743 in its reset state, at 64 MHz from the internal oscillator, except that the instruction cache is
   on. Input and output go through the debug probe. */
#include "cmrt/board.h"
#include "cmrt/cycle_counter.h"

/* Armv7-M Architecture Reference Manual, "Configuration and Control Register" and "Cache maintenance". */
enum { CCR = 0xe000ed14, ICIALLU = 0xe000ef50 };

static struct cm_cycles cycles;

void cm_board_init(void)
{
    *cm_core_register(ICIALLU) = 0;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    *cm_core_register(CCR) |= UINT32_C(1) << 17; /* IC: instruction cache */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    cm_cycle_counter_start();
}

uint64_t cm_board_ticks(void)
{
    return cm_cycles(&cycles);
}
