/* Teensy 4.1 as its boot ROM leaves the chip, except that the instruction cache is on. In a simulator, which
   has none of the chip's registers, input and output go by semihosting. */
#include "cmrt/board.h"

#include "chip.h"
#include "cmrt/chip_or_simulator.h"

void cm_board_init(void)
{
    chip_start();
    cm_is_chip = chip_is_there();
    if (cm_is_chip)
        chip_start_serial();
}

uint64_t cm_board_ticks(void)
{
    return chip_cycles();
}
