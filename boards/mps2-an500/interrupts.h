/* External interrupts of the core (AN500, "Interrupt assignments"). */
#define CM_INTERRUPTS 32
