/* Arm Corstone-320 on the MPS4 board, simulated by Arm's FVP; by QEMU's mps3-an547 instead. */
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
