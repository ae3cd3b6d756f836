/* Running sums of rows; see compiler/cmcompiler/ops/quantized_cumsum.py. */
#include "cmrt/args/quantized_cumsum.h"
#include "cmrt/arithmetic.h"
#include "cmrt/nest.h"

#include <stdbool.h>

/* Elements of a row whose sums stay below 2^29. */
#define MOST_BYTES (1 << 20)
#define MOST_SHORTS (1 << 13)

/* Whether cm_scale_right does for sums of up to `most` elements. */
static bool scales_right(const struct cm_quantized_cumsum *op, int32_t most)
{
    return op->count <= most && op->multiplier >= 0 && op->shift < 0 && op->shift >= -31;
}

/* In steps of the output from its zero point, within int8 or int16. */
static inline int32_t scaled(const struct cm_quantized_cumsum *op, int32_t sum, bool is_right, int32_t limit)
{
    if (is_right)
        return cm_clamp(cm_scale_right(sum, op->multiplier, op->shift) + op->zero_point, ~limit, limit);
    const int32_t steps = cm_requantize(sum, op->multiplier, op->shift);
    return cm_clamp(steps, ~limit - op->zero_point, limit - op->zero_point) + op->zero_point;
}

#define ACCUMULATE(name, type, limit)                                                                        \
    static inline __attribute__((always_inline)) void name(const struct cm_quantized_cumsum *op,             \
                                                           const type *input, type *output, bool is_right)   \
    {                                                                                                        \
        const struct cm_quantized_cumsum by = *op;                                                           \
        int32_t sum = 0;                                                                                     \
        for (int32_t i = 0; i < by.count; ++i) {                                                             \
            sum += *input - by.input_zero_point;                                                             \
            input += by.input_step;                                                                          \
            *output = (type)scaled(&by, sum, is_right, limit);                                               \
            output += by.output_step;                                                                        \
        }                                                                                                    \
    }
ACCUMULATE(accumulate_bytes, int8_t, INT8_MAX)
ACCUMULATE(accumulate_shorts, int16_t, INT16_MAX)

void cm_quantized_cumsum(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantized_cumsum *op = call->arguments;
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    const bool is_right = scales_right(op, MOST_BYTES);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        if (is_right)
            accumulate_bytes(op, input + nest.offset[0], output + nest.offset[1], true);
        else
            accumulate_bytes(op, input + nest.offset[0], output + nest.offset[1], false);
    } while (cm_nest_next(&nest));
}

void cm_quantized_cumsum_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantized_cumsum *op = call->arguments;
    const void *input = cm_read(context, op->input);
    void *output = cm_write(context, op->output);
    const bool is_right = scales_right(op, MOST_SHORTS);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const int16_t *from = cm_nest_short(&nest, 0, input);
        int16_t *to = cm_nest_short_output(&nest, 1, output);
        if (is_right)
            accumulate_shorts(op, from, to, true);
        else
            accumulate_shorts(op, from, to, false);
    } while (cm_nest_next(&nest));
}
