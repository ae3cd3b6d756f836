/* Arm MPS2 with the AN386 image: Cortex-M4 with FPU. */
#include "cmrt/board.h"
#include "cmrt/cmsdk_timer.h"

/* TIMER0 of the CMSDK (AN386, "Memory map"). */
static struct cm_cmsdk_timer *const timer = (struct cm_cmsdk_timer *)0x40000000;
static struct cm_clock clock;

void cm_board_init(void)
{
    cm_cmsdk_timer_start(timer, &clock);
}

uint64_t cm_board_ticks(void)
{
    return cm_cmsdk_timer_ticks(timer, &clock);
}
