/* UART0 of the CMSDK (AN385, "Memory map"). */
#define TERMINAL_UART 0x40004000
#define TERMINAL_CLOCK 25000000
#include "cmrt/cmsdk_terminal.h"
