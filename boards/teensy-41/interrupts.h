/* External interrupts (i.MX RT1060 reference manual, "CM7 interrupts"). */
#define CM_INTERRUPTS 160
