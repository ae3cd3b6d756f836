/* The functions of cmrt/terminal.h by a UART of the CMSDK. Included once, by terminal.c of a board, which
   defines TERMINAL_UART, the address of the UART, and TERMINAL_CLOCK, its clock in hertz. */
#ifndef CMRT_CMSDK_TERMINAL_H
#define CMRT_CMSDK_TERMINAL_H

#include "cmrt/cmsdk_uart.h"
#include "cmrt/terminal.h"

static struct cm_cmsdk_uart *const uart = (struct cm_cmsdk_uart *)TERMINAL_UART;
enum { BAUD = 115200 };

void cm_terminal_start(void)
{
    cm_cmsdk_uart_start(uart, TERMINAL_CLOCK, BAUD);
}

void cm_terminal_send(uint8_t byte)
{
    cm_cmsdk_uart_send(uart, byte);
}

bool cm_terminal_receive(uint8_t *byte)
{
    return cm_cmsdk_uart_receive(uart, byte);
}

#endif
