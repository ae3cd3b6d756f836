/* A board's serial line to the host. It is polled, so that fault handlers can use it. */
#ifndef CMRT_SERIAL_H
#define CMRT_SERIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

void cm_serial_send(uint8_t byte);

/* The next received byte; false if there is none yet. */
bool cm_serial_receive(uint8_t *byte);

/* A clock that counts up and wraps around. */
uint32_t cm_serial_milliseconds(void);

/* Restarts the board, as after power-on. */
noreturn void cm_serial_restart(void);

#endif
