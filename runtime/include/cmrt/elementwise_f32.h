/* Microkernels of elementwise float ops: `count` elements, from the first to the last, so that the output may
   overwrite an operand. A step of 0 repeats one element. */
#ifndef CMRT_ELEMENTWISE_F32_H
#define CMRT_ELEMENTWISE_F32_H

#include <stdbool.h>
#include <stdint.h>

#include "cmrt/microkernel.h"

/* The first functions of ops/binary.py, in its order. */
enum cm_arithmetic { CM_ADD, CM_SUB, CM_MUL, CM_DIV, CM_MINIMUM, CM_MAXIMUM };

struct cm_floats {
    const float *lhs, *rhs;
    int32_t lhs_step, rhs_step; /* 0 or 1 */
    float *out;
};
CM_MICROKERNEL void cm_isa_arithmetic_f32(enum cm_arithmetic function, struct cm_floats floats,
                                          int32_t count);

/* out = in < low ? low : in > high ? high : in */
CM_MICROKERNEL void cm_isa_clamp_f32(float low, float high, const float *in, float *out, int32_t count);

/* Smaller or larger; a NaN wins. */
static inline float cm_extreme(float a, float b, bool is_beyond)
{
    if (a != a || b != b)
        return a + b;
    return is_beyond ? a : b;
}

/* All of it in plain C. */
static inline void cm_arithmetic_loop(enum cm_arithmetic function, struct cm_floats floats, int32_t count)
{
    const float *lhs = floats.lhs, *rhs = floats.rhs;
    float *out = floats.out, *end = out + count;
#define CM_LOOP(result)                                                                                      \
    for (; out < end; lhs += floats.lhs_step, rhs += floats.rhs_step) {                                      \
        float a = *lhs, b = *rhs;                                                                            \
        *out++ = result;                                                                                     \
    }                                                                                                        \
    break
    switch (function) {
    case CM_ADD:
        CM_LOOP(a + b);
    case CM_SUB:
        CM_LOOP(a - b);
    case CM_MUL:
        CM_LOOP(a * b);
    case CM_DIV:
        CM_LOOP(a / b);
    case CM_MINIMUM:
        CM_LOOP(cm_extreme(a, b, a < b));
    case CM_MAXIMUM:
        CM_LOOP(cm_extreme(a, b, a > b));
    }
#undef CM_LOOP
}

static inline void cm_clamp_loop(float low, float high, const float *in, float *out, int32_t count)
{
    for (const float *end = in + count; in < end; ++in)
        *out++ = *in < low ? low : *in > high ? high : *in;
}

#endif
