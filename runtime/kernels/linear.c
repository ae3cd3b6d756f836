/* Rows of int8 features times a constant matrix; see compiler/cmcompiler/ops/linear.py. */
#include "cmrt/isa.h"
#include "cmrt/program.h"

struct cm_linear {
    cm_ref input, output, weights, workspace;
    int32_t rows, depth, columns;
    int32_t zero_point, minimum, maximum, rounding;
};

static struct cm_gemm product(const struct cm_context *context, const struct cm_linear *op)
{
    return (struct cm_gemm){
        .lhs = cm_read(context, op->input),
        .lhs_stride = op->depth,
        .rows = op->rows,
        .weights = cm_read(context, op->weights),
        .depth = op->depth,
        .columns = op->columns,
        .out = cm_write(context, op->output),
        .out_stride = op->columns,
        .workspace = cm_write(context, op->workspace),
        .output = {op->zero_point, op->minimum, op->maximum, op->rounding},
    };
}

void cm_linear(const struct cm_context *context, const struct cm_call *call)
{
    struct cm_gemm gemm = product(context, call->arguments);
    cm_isa_gemm_s8(&gemm);
}

/* With weights of int16. */
void cm_linear_w16(const struct cm_context *context, const struct cm_call *call)
{
    struct cm_gemm gemm = product(context, call->arguments);
    cm_isa_gemm_s8_w16(&gemm);
}

/* For a single row. */
void cm_linear_vector(const struct cm_context *context, const struct cm_call *call)
{
    struct cm_gemm gemm = product(context, call->arguments);
    cm_isa_gemv_s8(&gemm);
}

void cm_linear_vector_w16(const struct cm_context *context, const struct cm_call *call)
{
    struct cm_gemm gemm = product(context, call->arguments);
    cm_isa_gemv_s8_w16(&gemm);
}
