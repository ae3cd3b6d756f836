/* External interrupts of the core (AN385, "Interrupt assignments"). */
#define CM_INTERRUPTS 32
