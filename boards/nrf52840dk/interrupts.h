/* External interrupts (nRF52840 product specification, "Instantiation"). */
#define CM_INTERRUPTS 48
