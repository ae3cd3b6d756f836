/* Products of float matrices; see compiler/cmcompiler/ops/matmul.py. */
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"

/* Steps in elements; those of the addend may be 0. */
struct cm_matmul_f32 {
    cm_ref lhs, rhs, addend, output;
    int32_t batch, rows, depth, columns;
    int32_t lhs_batch, lhs_row, lhs_depth;
    int32_t rhs_batch, rhs_depth, rhs_column;
    int32_t addend_batch, addend_row, addend_column;
    uint32_t alpha, beta; /* floats */
};

static float dot(const float *lhs, int32_t lhs_step, const float *rhs, int32_t rhs_step, int32_t count)
{
    float sum = 0;
    for (int32_t k = 0; k < count; ++k) {
        sum += *lhs * *rhs;
        lhs += lhs_step;
        rhs += rhs_step;
    }
    return sum;
}

void cm_matmul_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_matmul_f32 *op = call->arguments;
    const float *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    const float *addend = op->addend == CM_REF_NONE ? NULL : cm_read(context, op->addend);
    float *output = cm_write(context, op->output);
    float alpha = cm_float(op->alpha), beta = cm_float(op->beta);
    for (int32_t n = 0; n < op->batch; ++n)
        for (int32_t row = 0; row < op->rows; ++row)
            for (int32_t column = 0; column < op->columns; ++column) {
                float product =
                    dot(lhs + n * op->lhs_batch + row * op->lhs_row, op->lhs_depth,
                        rhs + n * op->rhs_batch + column * op->rhs_column, op->rhs_depth, op->depth) *
                    alpha;
                if (addend != NULL)
                    product +=
                        addend[n * op->addend_batch + row * op->addend_row + column * op->addend_column] *
                        beta;
                *output++ = product;
            }
}
