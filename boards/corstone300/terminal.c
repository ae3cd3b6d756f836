/* UART0 by its secure alias (AN547 and AN552, "Memory map"). */
#define TERMINAL_UART 0x59303000
#define TERMINAL_CLOCK 25000000
#include "cmrt/cmsdk_terminal.h"
