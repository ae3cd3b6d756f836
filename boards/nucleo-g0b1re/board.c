/* STM32G0B1 in its reset state, at 16 MHz from the internal oscillator. Input and output go through the
   debug probe. */
#include "cmrt/board.h"

void cm_board_init(void)
{
}

/* The core has no cycle counter. */
uint64_t cm_board_ticks(void)
{
    return 0;
}
