/* Running sums of rows; see compiler/cmcompiler/ops/quantized_cumsum.py. */
#include "cmrt/args/quantized_cumsum.h"
#include "cmrt/arithmetic.h"
#include "cmrt/nest.h"

void cm_quantized_cumsum(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantized_cumsum *op = call->arguments;
    const int8_t *first_input = cm_read(context, op->input);
    int8_t *first_output = cm_write(context, op->output);
    int32_t least = INT8_MIN - op->zero_point, most = INT8_MAX - op->zero_point;
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const int8_t *input = first_input + nest.offset[0];
        int8_t *output = first_output + nest.offset[1];
        int32_t sum = 0;
        for (int32_t i = 0; i < op->count; ++i) {
            sum += input[i * op->input_step] - op->input_zero_point;
            int32_t scaled = cm_requantize(sum, op->multiplier, op->shift);
            output[i * op->output_step] = (int8_t)(cm_clamp(scaled, least, most) + op->zero_point);
        }
    } while (cm_nest_next(&nest));
}

void cm_quantized_cumsum_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantized_cumsum *op = call->arguments;
    const uint8_t *first_input = cm_read(context, op->input);
    uint8_t *first_output = cm_write(context, op->output);
    int32_t least = INT16_MIN - op->zero_point, most = INT16_MAX - op->zero_point;
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const int16_t *input = (const void *)(first_input + nest.offset[0]);
        int16_t *output = (void *)(first_output + nest.offset[1]);
        int32_t sum = 0;
        for (int32_t i = 0; i < op->count; ++i) {
            sum += input[i * op->input_step] - op->input_zero_point;
            int32_t scaled = cm_requantize(sum, op->multiplier, op->shift);
            output[i * op->output_step] = (int16_t)(cm_clamp(scaled, least, most) + op->zero_point);
        }
    } while (cm_nest_next(&nest));
}
