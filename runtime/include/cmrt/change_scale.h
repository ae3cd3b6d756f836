/* Numbers of one scale in another; see compiler/cmcompiler/ops/change_scale.py for the arithmetic. */
#ifndef CMRT_CHANGE_SCALE_H
#define CMRT_CHANGE_SCALE_H

#include "cmrt/args/change_scale.h"
#include "cmrt/arithmetic.h"
#include "cmrt/microkernel.h"

CM_MICROKERNEL void cm_isa_change_scale(const struct cm_change_scale *op, const void *in, void *out);

static inline int32_t cm_change_scale_element(const void *in, int32_t from, int32_t i)
{
    if (from == 4)
        return cm_clamp(((const int32_t *)in)[i], INT16_MIN, INT16_MAX);
    if (from == 8) {
        int64_t wide = ((const int64_t *)in)[i];
        return wide < INT16_MIN ? INT16_MIN : wide > INT16_MAX ? INT16_MAX : (int32_t)wide;
    }
    if (from == 2)
        return ((const int16_t *)in)[i];
    return from == 1 ? ((const int8_t *)in)[i] : ((const uint8_t *)in)[i];
}

/* `from` and `to` are the op's, constant where a loop of its own pays. */
static inline __attribute__((always_inline)) void
cm_change_scale_all(const struct cm_change_scale by, const void *in, void *out, int32_t from, int32_t to)
{
    for (int32_t i = 0; i < by.count; ++i) {
        int32_t x = cm_change_scale_element(in, from, i);
        int32_t sum = x * by.upper + ((x * by.lower + by.lower_constant) >> 16) + by.upper_constant;
        int32_t value = cm_clamp((sum >> by.shift) + by.after, by.minimum, by.maximum);
        if (to == 1)
            ((int8_t *)out)[i] = (int8_t)value;
        else
            ((int16_t *)out)[i] = (int16_t)value;
    }
}

#endif
