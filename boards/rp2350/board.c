/* Raspberry Pi Pico 2, and QEMU's musca-b1, which runs the same images. */
#include "cmrt/board.h"

#include "chip.h"
#include "cmrt/chip_or_simulator.h"
#include "cmrt/cmsdk_timer.h"

/* CMSDK TIMER0 of the Musca-B1 by its secure alias (Musca-B1 TRM, "Memory map"). */
static struct cm_cmsdk_timer *const timer = (struct cm_cmsdk_timer *)0x50000000;
static struct cm_clock clock;

void cm_board_init(void)
{
    cm_is_chip = chip_is_there();
    if (cm_is_chip)
        chip_start();
    else
        cm_cmsdk_timer_start(timer, &clock);
}

/* Called around every step, so a step that exceeds the watchdog's time is a hang. */
uint64_t cm_board_ticks(void)
{
    if (!cm_is_chip)
        return cm_cmsdk_timer_ticks(timer, &clock);
    chip_feed_watchdog();
    return chip_cycles();
}
