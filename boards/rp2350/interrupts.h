/* External interrupts (RP2350 datasheet, "Interrupts"). */
#define CM_INTERRUPTS 52
