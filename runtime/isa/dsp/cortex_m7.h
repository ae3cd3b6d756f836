/* Whether code is for a Cortex-M7, which issues instructions in pairs: no other core of Armv7E-M has double
   precision. */
#ifndef CORTEX_M7_H
#define CORTEX_M7_H

#if defined(__ARM_ARCH_7EM__) && defined(__ARM_FP) && (__ARM_FP & 8)
#define IS_CORTEX_M7 1
#else
#define IS_CORTEX_M7 0
#endif

#endif
