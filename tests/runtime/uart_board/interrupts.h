/* External interrupts of the SSE-200 and the Musca-B1, rounded up. */
#define CM_INTERRUPTS 128
