/* Arm Corstone-300 on the MPS3 board (AN547, AN552), simulated by QEMU's mps3-an547 and Arm's FVP. */
#include "cmrt/board.h"
#include "cmrt/system_counter.h"

void cm_board_init(void)
{
    cm_system_counter_start();
}

uint64_t cm_board_ticks(void)
{
    return cm_system_counter_ticks();
}
