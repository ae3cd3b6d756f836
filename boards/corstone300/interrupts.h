/* External interrupts of the SSE-300 on the MPS3 board: 32 of the subsystem and 96 of the board (AN547). */
#define CM_INTERRUPTS 128
