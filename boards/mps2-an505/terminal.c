/* UART0 by its secure alias (AN505, "Memory map"). */
#define TERMINAL_UART 0x50200000
#define TERMINAL_CLOCK 20000000
#include "cmrt/cmsdk_terminal.h"
