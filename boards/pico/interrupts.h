/* External interrupts: as many as the architecture allows; the RP2040 has 26. */
#define CM_INTERRUPTS 32
