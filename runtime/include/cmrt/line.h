/* The serial line to the host, as a board that talks over one provides it. It is polled: a fault handler
   talks, too. */
#ifndef CMRT_LINE_H
#define CMRT_LINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>

void cm_line_send(uint8_t byte);

/* The next byte that came in; false if there is none yet. */
bool cm_line_receive(uint8_t *byte);

/* A clock that counts up and wraps around. */
uint32_t cm_line_milliseconds(void);

/* Starts the board anew, as after power-on. */
noreturn void cm_line_restart(void);

#endif
