/* Interrupts of the STM32F405 (RM0090, "Vector table"). */
#define CM_INTERRUPTS 82
