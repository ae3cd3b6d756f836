/* Products over short innermost loops; see compiler/cmcompiler/ops/mul.py. */
#include "cmrt/args/mul.h"
#include "cmrt/elementwise.h"
#include "cmrt/joined_pairs.h"

static void multiply(const struct cm_context *context, const struct cm_mul *op, cm_pair_microkernel *apply)
{
    const struct cm_product product = {
        .lhs_zero_point = op->lhs_zero_point,
        .rhs_zero_point = op->rhs_zero_point,
        .output = {op->zero_point, op->multiplier, op->shift},
    };
    const struct cm_pair_operands pair = CM_PAIR_OPERANDS(op);
    cm_joined_pairs(context, &pair, apply, &product);
}

static void any(const void *product, const int8_t *lhs, const int8_t *rhs, int8_t *out, int32_t count)
{
    cm_isa_mul_s8(product, lhs, rhs, 1, out, count);
}

static void right(const void *product, const int8_t *lhs, const int8_t *rhs, int8_t *out, int32_t count)
{
    cm_isa_mul_right_s8(product, lhs, rhs, 1, out, count);
}

void cm_mul_s8_joined(const struct cm_context *context, const struct cm_call *call)
{
    multiply(context, call->arguments, any);
}

void cm_mul_right_s8_joined(const struct cm_context *context, const struct cm_call *call)
{
    multiply(context, call->arguments, right);
}
