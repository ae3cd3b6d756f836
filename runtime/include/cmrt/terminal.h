/* A board's line for text, such as MLPerf Tiny's runner talks to. It is polled. Boards with terminal.c have
 * it. */
#ifndef CMRT_TERMINAL_H
#define CMRT_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 115,200 baud, 8 bits, no parity, 1 stop bit. */
void cm_terminal_start(void);

void cm_terminal_send(uint8_t byte);

/* The next received byte; false if there is none yet. */
bool cm_terminal_receive(uint8_t *byte);

#ifdef __cplusplus
}
#endif

#endif
