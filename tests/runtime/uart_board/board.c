/* QEMU's Musca-B1, whose UART0 is a PL011 as on other chips. */
#include "cmrt/board.h"
#include "../serial_host.h"
#include "cmrt/cmsdk_timer.h"
#include "cmrt/pl011.h"
#include "cmrt/semihosting.h"
#include "cmrt/serial.h"

enum { CLOCK = 40000000, RESTARTED = 3 };

/* Secure aliases (Musca-B1 TRM, "Memory map"). */
static struct cm_cmsdk_timer *const timer = (struct cm_cmsdk_timer *)0x50000000;
static struct cm_pl011 *const uart = (struct cm_pl011 *)0x50105000;
static struct cm_clock clock;

extern const uint8_t cm_serial_baud[];

void cm_board_init(void)
{
    cm_cmsdk_timer_start(timer, &clock);
    cm_pl011_start(uart, CLOCK, (uint32_t)(uintptr_t)cm_serial_baud);
}

uint64_t cm_board_ticks(void)
{
    return cm_cmsdk_timer_ticks(timer, &clock);
}

void cm_serial_send(uint8_t byte)
{
    cm_pl011_send(uart, byte);
}

bool cm_serial_receive(uint8_t *byte)
{
    return cm_pl011_receive(uart, byte);
}

uint32_t cm_serial_milliseconds(void)
{
    return (uint32_t)(cm_board_ticks() / (CLOCK / 1000));
}

void cm_serial_restart(void)
{
    cm_semihosting_exit(RESTARTED);
}
