/* Groups of floats normalised to mean 0 and variance 1; see compiler/cmcompiler/ops/normalization.py. */
#include "cmrt/normalization.h"
#include "cmrt/args/normalization_f32.h"
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"

#include <math.h>

enum result { NORMALIZED, MEAN, INVERSE_DEVIATION };

/* A parameter of the channels from `first` on; without one, the same number for all of them. */
struct parameter {
    const float *of_first;
    int32_t step;
};

static struct parameter parameter(const struct cm_context *context, cm_ref ref, int32_t first,
                                  const float *neutral)
{
    if (ref == CM_REF_NONE)
        return (struct parameter){neutral, 0};
    return (struct parameter){(const float *)cm_read(context, ref) + first, 1};
}

static void normalize(const struct cm_context *context, const struct cm_normalization_f32 *op, int32_t group,
                      float mean, float inverse)
{
    static const float one = 1, none = -0.0F; /* x + -0 is x, even if x is -0 */
    const int32_t first = group % op->cycle * op->channels, place = group * op->channels * op->run;
    const float *x = (const float *)cm_read(context, op->input) + place;
    float *output = (float *)cm_write(context, op->output) + place;
    struct parameter weight = parameter(context, op->weight, first, &one);
    struct parameter bias = parameter(context, op->bias, first, &none);
    struct cm_normalized by = {mean, inverse, weight.of_first, bias.of_first, weight.step, bias.step};
    if (op->run == 1) {
        cm_isa_normalize_f32(&by, x, output, op->channels);
        return;
    }
    by.weight_step = by.bias_step = 0;
    for (int32_t channel = 0; channel < op->channels; ++channel) {
        cm_isa_normalize_f32(&by, x, output, op->run);
        x += op->run;
        output += op->run;
        by.weight += weight.step;
        by.bias += bias.step;
    }
}

void cm_normalization_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_normalization_f32 *op = call->arguments;
    const int32_t count = op->channels * op->run;
    const float *x = cm_read(context, op->input);
    for (int32_t first = 0; first < op->groups; first += CM_MOMENTS_GROUPS) {
        int32_t left = op->groups - first, groups = left < CM_MOMENTS_GROUPS ? left : CM_MOMENTS_GROUPS;
        struct cm_moments moments[CM_MOMENTS_GROUPS];
        cm_isa_moments_f32(x + first * count, groups, count, moments);
        for (int32_t i = 0; i < groups; ++i) {
            float mean = moments[i].mean, inverse = 1 / sqrtf(moments[i].variance + cm_float(op->eps));
            if (op->result == NORMALIZED)
                normalize(context, op, first + i, mean, inverse);
            else
                ((float *)cm_write(context, op->output))[first + i] = op->result == MEAN ? mean : inverse;
        }
    }
}
