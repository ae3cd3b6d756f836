/* Arm's PrimeCell UART, PL011 (its Technical Reference Manual, DDI 0183), polled. */
#ifndef CMRT_PL011_H
#define CMRT_PL011_H

#include <stdbool.h>
#include <stdint.h>

struct cm_pl011 {
    volatile uint32_t data, status, reserved0[4], flags, reserved1, low_power, divisor, fraction, format,
        control;
};
enum {
    CM_PL011_RECEIVER_IS_EMPTY = 1 << 4,
    CM_PL011_SENDER_IS_FULL = 1 << 5,
    CM_PL011_QUEUES = 1 << 4,
    CM_PL011_8_BITS = 3 << 5,
    CM_PL011_ENABLE = 1 << 0,
    CM_PL011_SEND = 1 << 8,
    CM_PL011_RECEIVE = 1 << 9,
};

/* 8 bits, no parity, 1 stop bit. */
static inline void cm_pl011_start(struct cm_pl011 *uart, uint32_t clock, uint32_t baud)
{
    uint32_t divisor = (8 * clock / baud + 1) / 2; /* clock / (16 * baud) in 64ths, rounded */
    uart->control = 0;
    uart->divisor = divisor >> 6;
    uart->fraction = divisor & 63;
    uart->format = CM_PL011_8_BITS | CM_PL011_QUEUES; /* also takes the divisor over */
    uart->control = CM_PL011_ENABLE | CM_PL011_SEND | CM_PL011_RECEIVE;
}

static inline void cm_pl011_send(struct cm_pl011 *uart, uint8_t byte)
{
    while ((uart->flags & CM_PL011_SENDER_IS_FULL) != 0) {
    }
    uart->data = byte;
}

static inline bool cm_pl011_receive(struct cm_pl011 *uart, uint8_t *byte)
{
    if ((uart->flags & CM_PL011_RECEIVER_IS_EMPTY) != 0)
        return false;
    *byte = (uint8_t)uart->data;
    return true;
}

#endif
