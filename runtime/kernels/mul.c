/* Product of quantised tensors; see compiler/cmcompiler/ops/mul.py. */
#include "cmrt/args/mul.h"
#include "cmrt/elementwise.h"
#include "cmrt/nest.h"

typedef void product_microkernel(const struct cm_product *, const int8_t *, const int8_t *, int32_t, int8_t *,
                                 int32_t);

static inline void multiply(const struct cm_context *context, const struct cm_mul *op,
                            product_microkernel *microkernel)
{
    const struct cm_product product = {
        .lhs_zero_point = op->lhs_zero_point,
        .rhs_zero_point = op->rhs_zero_point,
        .output = {op->zero_point, op->multiplier, op->shift},
    };
    const int8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    int8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        microkernel(&product, lhs + nest.offset[0], rhs + nest.offset[1], op->rhs_step,
                    output + nest.offset[2], op->count);
    while (cm_nest_next(&nest));
}

void cm_mul_s8(const struct cm_context *context, const struct cm_call *call)
{
    multiply(context, call->arguments, cm_isa_mul_s8);
}

/* Takes struct cm_mul with the output of cm_isa_mul_right_s8. */
void cm_mul_right_s8(const struct cm_context *context, const struct cm_call *call)
{
    multiply(context, call->arguments, cm_isa_mul_right_s8);
}
