/* Products of int16 matrices; see compiler/cmcompiler/ops/batch_matmul.py. */
#include "cmrt/args/batch_matmul_s16.h"
#include "cmrt/short_output.h"

void cm_batch_matmul_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_batch_matmul_s16 *op = call->arguments;
    const int16_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int16_t *output = cm_write(context, op->output);
    for (int32_t n = 0; n < op->batch; ++n, rhs += op->columns * op->depth)
        for (int32_t row = 0; row < op->rows; ++row, lhs += op->depth)
            for (int32_t column = 0; column < op->columns; ++column) {
                const int16_t *other = rhs + column * op->depth;
                int64_t sum = 0;
                for (int32_t k = 0; k < op->depth; ++k)
                    sum += lhs[k] * other[k];
                int32_t scaled = cm_scale_long(sum, op->multiplier, op->shift);
                *output++ = (int16_t)cm_clamp(scaled, INT16_MIN, INT16_MAX);
            }
}
