/* Whether vector arithmetic flushed a subnormal number to zero, which only MVE does: docs/exactness.md. Code
   in between loads its operands from memory and stores its results there. */
#ifndef CMRT_FLUSH_H
#define CMRT_FLUSH_H

#include <stdbool.h>
#include <stdint.h>

#define CM_FPSCR_FLUSHED 0x88 /* a subnormal input, IDC, or an underflow, UFC */

static inline void cm_start_watch(void)
{
    uint32_t status;
    __asm volatile("vmrs %0, fpscr\n"
                   "bic %0, %0, %1\n"
                   "vmsr fpscr, %0"
                   : "=&r"(status)
                   : "i"(CM_FPSCR_FLUSHED)
                   : "memory");
}

static inline bool cm_has_flushed(void)
{
    uint32_t status;
    __asm volatile("vmrs %0, fpscr" : "=r"(status) : : "memory");
    return (status & CM_FPSCR_FLUSHED) != 0;
}

#endif
