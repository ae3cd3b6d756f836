/* Quantised numbers of one scale in another; see compiler/cmcompiler/ops/change_scale.py. */
#include "cmrt/args/change_scale.h"
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"

static inline int32_t change_scale_element(const void *input, int32_t from, int32_t i)
{
    if (from == 4)
        return cm_clamp(((const int32_t *)input)[i], INT16_MIN, INT16_MAX);
    if (from == 8) {
        int64_t wide = ((const int64_t *)input)[i];
        return wide < INT16_MIN ? INT16_MIN : wide > INT16_MAX ? INT16_MAX : (int32_t)wide;
    }
    if (from == 2)
        return ((const int16_t *)input)[i];
    return from == 1 ? ((const int8_t *)input)[i] : ((const uint8_t *)input)[i];
}

static inline void change(const struct cm_change_scale by, const void *input, void *output, int32_t from,
                          int32_t to)
{
    for (int32_t i = 0; i < by.count; ++i) {
        int32_t x = change_scale_element(input, from, i);
        int32_t sum = x * by.upper + ((x * by.lower + by.lower_constant) >> 16) + by.upper_constant;
        int32_t value = cm_clamp((sum >> by.shift) + by.after, by.minimum, by.maximum);
        if (to == 1)
            ((int8_t *)output)[i] = (int8_t)value;
        else
            ((int16_t *)output)[i] = (int16_t)value;
    }
}

void cm_change_scale(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_change_scale *op = call->arguments;
    const void *input = cm_read(context, op->input);
    void *output = cm_write(context, op->output);
    /* Mixed networks change between int8 and int16: a loop for each. */
    if (op->source == 2 && op->to == 1)
        change(*op, input, output, 2, 1);
    else if (op->source == 1 && op->to == 2)
        change(*op, input, output, 1, 2);
    else
        change(*op, input, output, op->source, op->to);
}
