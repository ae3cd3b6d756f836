/* External interrupts (STM32H742/743 reference manual RM0433, "NVIC"). */
#define CM_INTERRUPTS 150
