/* Microkernels of float norms; see compiler/cmcompiler/ops/normalization.py for the arithmetic. */
#ifndef CMRT_NORMALIZATION_H
#define CMRT_NORMALIZATION_H

#include <stdint.h>

#include "cmrt/microkernel.h"

struct cm_moments {
    float mean, variance;
};

#define CM_MOMENTS_GROUPS 4

/* Of up to CM_MOMENTS_GROUPS groups of `count` elements, one after the other. */
CM_MICROKERNEL void cm_isa_moments_f32(const float *x, int32_t groups, int32_t count,
                                       struct cm_moments *moments);

/* out = (in - mean) * inverse * weight + bias, from the first element to the last; steps are 0 or 1. */
struct cm_normalized {
    float mean, inverse;
    const float *weight, *bias;
    int32_t weight_step, bias_step;
};
CM_MICROKERNEL void cm_isa_normalize_f32(const struct cm_normalized *by, const float *in, float *out,
                                         int32_t count);

/* Both in plain C. */
static inline struct cm_moments cm_moments_of(const float *x, int32_t count)
{
    const float *end = x + count;
    float sum = 0, squares = 0;
#pragma GCC unroll 4
    for (const float *at = x; at < end; ++at)
        sum += *at;
    float mean = sum / (float)count;
#pragma GCC unroll 4
    for (const float *at = x; at < end; ++at)
        squares += (*at - mean) * (*at - mean);
    return (struct cm_moments){mean, squares / (float)count};
}

static inline void cm_normalize_loop(struct cm_normalized by, const float *in, float *out, int32_t count)
{
    for (const float *end = in + count; in < end; ++in) {
        *out++ = (*in - by.mean) * by.inverse * *by.weight + *by.bias;
        by.weight += by.weight_step;
        by.bias += by.bias_step;
    }
}

#endif
