/* External interrupts of the core (AN386, "Interrupt assignments"). */
#define CM_INTERRUPTS 32
