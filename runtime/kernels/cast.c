/* Elements of one type as another; see compiler/cmcompiler/ops/cast.py. */
#include "cmrt/args/cast.h"
#include "cmrt/element.h"
#include "cmrt/program.h"

/* Towards zero, saturated; NaN gives 0. */
static int64_t truncated(float x)
{
    if (!(x > -0x1p63f))
        return x != x ? 0 : INT64_MIN;
    return x < 0x1p63f ? (int64_t)x : INT64_MAX;
}

void cm_cast(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_cast *op = call->arguments;
    const void *input = cm_read(context, op->input);
    void *output = cm_write(context, op->output);
    for (int32_t i = 0; i < op->count; ++i) {
        if (op->source != CM_FLOAT32 && op->to == CM_FLOAT32) {
            ((float *)output)[i] = (float)cm_load((enum cm_element)op->source, input, i);
        } else if (op->source == CM_FLOAT32) {
            float x = ((const float *)input)[i];
            int64_t value = op->to == CM_BOOL ? x != 0 : truncated(x);
            cm_store((enum cm_element)op->to, output, i, value);
        } else {
            cm_store((enum cm_element)op->to, output, i, cm_load((enum cm_element)op->source, input, i));
        }
    }
}

/* Towards zero, saturated; NaN gives 0. */
static int64_t truncated_double(double x)
{
    if (!(x > -0x1p63))
        return x != x ? 0 : INT64_MIN;
    return x < 0x1p63 ? (int64_t)x : INT64_MAX;
}

static void store_double(enum cm_element to, void *output, int32_t i, double x)
{
    if (to == CM_FLOAT32)
        ((float *)output)[i] = (float)x;
    else
        cm_store(to, output, i, to == CM_BOOL ? x != 0 : truncated_double(x));
}

/* From or to doubles; separate, because few cores support them in hardware. */
void cm_cast_double(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_cast *op = call->arguments;
    const void *input = cm_read(context, op->input);
    void *output = cm_write(context, op->output);
    for (int32_t i = 0; i < op->count; ++i) {
        if (op->source == CM_FLOAT64)
            store_double((enum cm_element)op->to, output, i, ((const double *)input)[i]);
        else if (op->source == CM_FLOAT32)
            ((double *)output)[i] = ((const float *)input)[i];
        else
            ((double *)output)[i] = (double)cm_load((enum cm_element)op->source, input, i);
    }
}
