/* The UART of Arm's Cortex-M System Design Kit, polled (CMSDK TRM, "APB UART"). */
#ifndef CMRT_CMSDK_UART_H
#define CMRT_CMSDK_UART_H

#include <stdbool.h>
#include <stdint.h>

struct cm_cmsdk_uart {
    volatile uint32_t data, state, control, interrupt, divisor;
};
enum {
    CM_CMSDK_UART_SENDER_IS_FULL = 1 << 0,
    CM_CMSDK_UART_HAS_RECEIVED = 1 << 1,
    CM_CMSDK_UART_SEND = 1 << 0,
    CM_CMSDK_UART_RECEIVE = 1 << 1,
};

/* 8 bits, no parity, 1 stop bit. */
static inline void cm_cmsdk_uart_start(struct cm_cmsdk_uart *uart, uint32_t clock, uint32_t baud)
{
    uart->divisor = clock / baud; /* at least 16 */
    uart->control = CM_CMSDK_UART_SEND | CM_CMSDK_UART_RECEIVE;
}

static inline void cm_cmsdk_uart_send(struct cm_cmsdk_uart *uart, uint8_t byte)
{
    while ((uart->state & CM_CMSDK_UART_SENDER_IS_FULL) != 0) {
    }
    uart->data = byte;
}

static inline bool cm_cmsdk_uart_receive(struct cm_cmsdk_uart *uart, uint8_t *byte)
{
    if ((uart->state & CM_CMSDK_UART_HAS_RECEIVED) == 0)
        return false;
    *byte = (uint8_t)uart->data;
    return true;
}

#endif
