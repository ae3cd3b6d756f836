/* What MLPerf Tiny's benchmark needs of a board. */
#ifndef PORT_H
#define PORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the clock and the serial line to the runner; called once. */
void port_start(void);

void port_send(char character);

/* Waits for the next character. */
char port_receive(void);

/* A clock that counts up and wraps around. */
uint32_t port_microseconds(void);

#ifdef __cplusplus
}
#endif

#endif
