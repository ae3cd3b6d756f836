/* STM32F767 in its reset state, at 16 MHz from the internal oscillator. Input and output go through the
   debug probe. */
#include "cmrt/board.h"
#include "cmrt/cycle_counter.h"

static struct cm_cycles cycles;

void cm_board_init(void)
{
    cm_cycle_counter_start();
}

uint64_t cm_board_ticks(void)
{
    return cm_cycles(&cycles);
}
