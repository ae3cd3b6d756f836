/* Groups of floats normalised to mean 0 and variance 1; see compiler/cmcompiler/ops/normalization.py. */
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"

#include <math.h>

struct cm_normalization_f32 {
    cm_ref input, weight, bias, output;
    int32_t groups, cycle, channels, run;
    uint32_t eps;   /* float */
    int32_t result; /* enum result */
};

enum result { NORMALIZED, MEAN, INVERSE_DEVIATION };

static float mean_of(const float *x, int32_t count)
{
    float sum = 0;
    for (int32_t i = 0; i < count; ++i)
        sum += x[i];
    return sum / (float)count;
}

static float variance_of(const float *x, int32_t count, float mean)
{
    float sum = 0;
    for (int32_t i = 0; i < count; ++i)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum / (float)count;
}

/* Weights and biases of a group's channels; NULL if there are none. */
struct parameters {
    const float *weight, *bias;
};

static void normalize(const struct cm_normalization_f32 *op, struct parameters parameters, float mean,
                      float inverse, const float *x, float *output)
{
    for (int32_t c = 0; c < op->channels; ++c)
        for (int32_t i = 0; i < op->run; ++i) {
            float result = (*x++ - mean) * inverse;
            if (parameters.weight != NULL)
                result *= parameters.weight[c];
            if (parameters.bias != NULL)
                result += parameters.bias[c];
            *output++ = result;
        }
}

static const float *optional(const struct cm_context *context, cm_ref ref, int32_t offset)
{
    return ref == CM_REF_NONE ? NULL : (const float *)cm_read(context, ref) + offset;
}

void cm_normalization_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_normalization_f32 *op = call->arguments;
    const int32_t count = op->channels * op->run;
    const float *x = cm_read(context, op->input);
    float *output = cm_write(context, op->output);
    for (int32_t group = 0; group < op->groups; ++group, x += count) {
        int32_t first = group % op->cycle * op->channels;
        float mean = mean_of(x, count);
        float inverse = 1 / sqrtf(variance_of(x, count, mean) + cm_float(op->eps));
        const struct parameters parameters = {optional(context, op->weight, first),
                                              optional(context, op->bias, first)};
        if (op->result == NORMALIZED)
            normalize(op, parameters, mean, inverse, x, output + group * count);
        else
            output[group] = op->result == MEAN ? mean : inverse;
    }
}
