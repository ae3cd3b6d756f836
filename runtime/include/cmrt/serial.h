/* The serial line to the host, as a board that talks over one provides it. It is polled: a fault handler
   talks, too. */
#ifndef CMRT_SERIAL_H
#define CMRT_SERIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

void cm_serial_send(uint8_t byte);

/* The next byte that came in; false if there is none yet. */
bool cm_serial_receive(uint8_t *byte);

/* A clock that counts up and wraps around. */
uint32_t cm_serial_milliseconds(void);

/* Starts the board anew, as after power-on. */
noreturn void cm_serial_restart(void);

#endif
