/* The stack guard. */
#ifndef CM_PROTECT_H
#define CM_PROTECT_H

/* Armv8-M Mainline has a stack limit register, which is active from reset. */
#if __ARM_ARCH >= 8 && __ARM_ARCH_ISA_THUMB >= 2
#define CM_HAS_STACK_LIMIT 1
#else
#define CM_HAS_STACK_LIMIT 0
#endif

/* On other cores the MPU, if any, denies the lowest bytes of the stack, which the link script aligns: the
   smallest region that every MPU supports, and larger than most stack frames. */
#define CM_STACK_GUARD_BYTES 256

#ifndef __ASSEMBLER__
#include <stdint.h>

/* Called once by start-up, after it has filled the stack. */
void cm_protect(void);

/* The lowest word of the stack that may be used. */
const uint32_t *cm_stack_begin(void);
#endif

#endif
