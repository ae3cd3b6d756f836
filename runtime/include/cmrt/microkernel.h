/* Microkernels that stay functions of their own when whole programs are optimised at once: the assembly of
   those with Helium has as many operands as there are registers. */
#ifndef CMRT_MICROKERNEL_H
#define CMRT_MICROKERNEL_H

#if defined(__ARM_FEATURE_MVE)
#define CM_MICROKERNEL __attribute__((noinline))
#else
#define CM_MICROKERNEL
#endif

#endif
