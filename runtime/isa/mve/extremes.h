/* The smaller or the larger of int8 elements: sixteen at a time. */
#ifndef EXTREMES_H
#define EXTREMES_H

#include "cmrt/elementwise.h"

/* Defines a microkernel; VECTOR is `vmin` or `vmax`. */
#define EXTREMES_FUNCTION(name, VECTOR)                                                                      \
    static void with_one(const int8_t *lhs, int32_t rhs, int8_t *out, int32_t count)                         \
    {                                                                                                        \
        __asm volatile("vdup.8 q1, %[rhs]\n"                                                                 \
                       "dlstp.8 lr, %[count]\n"                                                              \
                       "1:\n"                                                                                \
                       "vldrb.8 q0, [%[lhs]], #16\n" VECTOR ".s8 q0, q0, q1\n"                               \
                       "vstrb.8 q0, [%[out]], #16\n"                                                         \
                       "letp lr, 1b\n"                                                                       \
                       : [lhs] "+r"(lhs), [out] "+r"(out)                                                    \
                       : [rhs] "r"(rhs), [count] "r"(count)                                                  \
                       : "q0", "q1", "lr", "memory");                                                        \
    }                                                                                                        \
                                                                                                             \
    static void with_each(const int8_t *lhs, const int8_t *rhs, int8_t *out, int32_t count)                  \
    {                                                                                                        \
        __asm volatile("dlstp.8 lr, %[count]\n"                                                              \
                       "1:\n"                                                                                \
                       "vldrb.8 q0, [%[lhs]], #16\n"                                                         \
                       "vldrb.8 q1, [%[rhs]], #16\n" VECTOR ".s8 q0, q0, q1\n"                               \
                       "vstrb.8 q0, [%[out]], #16\n"                                                         \
                       "letp lr, 1b\n"                                                                       \
                       : [lhs] "+r"(lhs), [rhs] "+r"(rhs), [out] "+r"(out)                                   \
                       : [count] "r"(count)                                                                  \
                       : "q0", "q1", "lr", "memory");                                                        \
    }                                                                                                        \
                                                                                                             \
    void name(const int8_t *lhs, const int8_t *rhs, int32_t rhs_step, int8_t *out, int32_t count)            \
    {                                                                                                        \
        if (rhs_step == 0)                                                                                   \
            with_one(lhs, *rhs, out, count);                                                                 \
        else                                                                                                 \
            with_each(lhs, rhs, out, count);                                                                 \
    }

#endif
