/* Peripheral interrupts (nRF51 Series Reference Manual, "Instantiation"). */
#define CM_INTERRUPTS 32
