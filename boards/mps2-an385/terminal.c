#include "cmrt/terminal.h"

#include "cmrt/cmsdk_uart.h"

/* UART0 of the CMSDK (AN385, "Memory map"). */
static struct cm_cmsdk_uart *const uart = (struct cm_cmsdk_uart *)0x40004000;
enum { CLOCK = 25000000, BAUD = 115200 };

void cm_terminal_start(void)
{
    cm_cmsdk_uart_start(uart, CLOCK, BAUD);
}

void cm_terminal_send(uint8_t byte)
{
    cm_cmsdk_uart_send(uart, byte);
}

bool cm_terminal_receive(uint8_t *byte)
{
    return cm_cmsdk_uart_receive(uart, byte);
}
