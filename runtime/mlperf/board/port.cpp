/* The benchmark on a board: port.h by the board's clock and terminal, and the main loop. */
#include "port.h"

#include "api/internally_implemented.h"
#include "api/submitter_implemented.h"
#include "cmrt/board.h"
#include "cmrt/host.h"
#include "cmrt/terminal.h"

/* Without a runner there is no host but the terminal: start-up reports faults there. */
extern "C" void cm_host_print(const char *text)
{
    while (*text != '\0')
        cm_terminal_send(static_cast<uint8_t>(*text++));
}

extern "C" void cm_host_exit(int)
{
    for (;;) {
    }
}

void port_start(void)
{
    cm_terminal_start();
}

void port_send(char character)
{
    cm_terminal_send(static_cast<uint8_t>(character));
}

char port_receive(void)
{
    uint8_t byte;
    while (!cm_terminal_receive(&byte))
        (void)cm_board_ticks(); /* extends a counter that wraps around */
    return static_cast<char>(byte);
}

uint32_t port_microseconds(void)
{
    return static_cast<uint32_t>(cm_board_ticks() * 1000000 / TICKS_PER_SECOND);
}

extern "C" int cm_main(void)
{
    ee_benchmark_initialize();
    for (;;)
        ee_serial_callback(th_getchar());
}
