/* External interrupts of the SSE-320 and the MPS4 board. */
#define CM_INTERRUPTS 240
