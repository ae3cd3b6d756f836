/* External interrupts: as many as the architecture allows. */
#define CM_INTERRUPTS 240
