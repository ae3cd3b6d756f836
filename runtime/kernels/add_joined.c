/* Sums over short innermost loops; see compiler/cmcompiler/ops/add.py. */
#include "cmrt/affine.h"
#include "cmrt/args/add_affine_s8.h"
#include "cmrt/elementwise.h"
#include "cmrt/joined_pairs.h"

static void add(const void *affine, const int8_t *lhs, const int8_t *rhs, int8_t *out, int32_t count)
{
    cm_isa_add_affine_s8(affine, lhs, rhs, 1, out, count);
}

void cm_add_affine_s8_joined(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_add_affine_s8 *op = call->arguments;
    const struct cm_affine affine = cm_affine_of(op);
    const struct cm_pair_operands pair = CM_PAIR_OPERANDS(op);
    cm_joined_pairs(context, &pair, add, &affine);
}
