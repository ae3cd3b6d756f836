/* Rows of int8 features times a constant matrix; see compiler/cmcompiler/ops/linear.py. */
#include "cmrt/args/linear.h"
#include "cmrt/isa.h"
#include "cmrt/program.h"

typedef void product_function(const struct cm_gemm *gemm);

static void apply(const struct cm_context *context, const struct cm_call *call, product_function *multiply)
{
    const struct cm_linear *op = call->arguments;
    struct cm_gemm gemm = {
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
    multiply(&gemm);
}

void cm_linear(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8);
}

void cm_linear_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_general);
}

void cm_linear_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_half_up);
}

/* With Helium, by depth. */
void cm_linear_shallow(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_shallow);
}

void cm_linear_shallow_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_shallow_half_up);
}

void cm_linear_deep(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_deep);
}

void cm_linear_deep_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_deep_half_up);
}

/* With Helium, of rows side by side. */
void cm_linear_shallow_dense(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_shallow_dense);
}

void cm_linear_shallow_dense_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_shallow_dense_half_up);
}

void cm_linear_dense_64_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_dense_64_half_up);
}

void cm_linear_dense_128_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_dense_128_half_up);
}

/* With weights whose pairs do not suit the DSP extension. */
void cm_linear_apart(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_apart);
}

void cm_linear_apart_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_apart_general);
}

void cm_linear_g4_apart(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_g4_apart);
}

void cm_linear_g4_apart_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_g4_apart_general);
}

/* With weights of int16. */
void cm_linear_w16(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_w16);
}

void cm_linear_w16_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_w16_general);
}

/* For a single row. */
void cm_linear_vector(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8);
}

void cm_linear_vector_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8_general);
}

/* A long one by few columns. */
void cm_linear_vector_long(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8_long);
}

void cm_linear_vector_long_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8_long_general);
}

void cm_linear_vector_w16(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8_w16);
}

void cm_linear_vector_w16_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8_w16_general);
}

/* With weights of four bits. */
void cm_linear_w4(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_w4);
}

void cm_linear_w4_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_w4_general);
}

void cm_linear_w4_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_w4_half_up);
}

/* With Helium, of so many depths. */
void cm_linear_w4_64(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_w4_64);
}

void cm_linear_w4_64_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_w4_64_half_up);
}

void cm_linear_w4_128(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_w4_128);
}

void cm_linear_w4_128_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_w4_128_half_up);
}

void cm_linear_vector_w4(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8_w4);
}

void cm_linear_vector_w4_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8_w4_general);
}

/* With such in groups of depths. */
void cm_linear_g4(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_g4);
}

void cm_linear_g4_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_g4_general);
}

void cm_linear_g4_half_up(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s8_g4_half_up);
}

void cm_linear_vector_g4(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8_g4);
}

void cm_linear_vector_g4_general(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemv_s8_g4_general);
}

/* Of int16. All sizes of the arguments are bytes. */
void cm_linear_s16(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s16);
}

void cm_linear_s16_long(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s16_long);
}

void cm_linear_s16_w4(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s16_w4);
}

void cm_linear_s16_long_w4(const struct cm_context *context, const struct cm_call *call)
{
    apply(context, call, cm_isa_gemm_s16_long_w4);
}

static void clamp(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_linear *op = call->arguments;
    cm_isa_clamp_s8(cm_write(context, op->output), op->rows * op->columns, op->minimum, op->maximum);
}

/* For ranges that are not all of int8, where shortcuts saturate to it. */
void cm_linear_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear(context, call);
    clamp(context, call);
}

void cm_linear_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_half_up(context, call);
    clamp(context, call);
}

void cm_linear_shallow_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_shallow(context, call);
    clamp(context, call);
}

void cm_linear_shallow_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_shallow_half_up(context, call);
    clamp(context, call);
}

void cm_linear_deep_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_deep(context, call);
    clamp(context, call);
}

void cm_linear_deep_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_deep_half_up(context, call);
    clamp(context, call);
}

void cm_linear_shallow_dense_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_shallow_dense(context, call);
    clamp(context, call);
}

void cm_linear_shallow_dense_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_shallow_dense_half_up(context, call);
    clamp(context, call);
}

void cm_linear_dense_64_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_dense_64_half_up(context, call);
    clamp(context, call);
}

void cm_linear_dense_128_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_dense_128_half_up(context, call);
    clamp(context, call);
}

void cm_linear_vector_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_vector(context, call);
    clamp(context, call);
}

void cm_linear_vector_long_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_vector_long(context, call);
    clamp(context, call);
}

void cm_linear_apart_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_apart(context, call);
    clamp(context, call);
}

void cm_linear_g4_apart_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_g4_apart(context, call);
    clamp(context, call);
}

void cm_linear_w16_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_w16(context, call);
    clamp(context, call);
}

void cm_linear_vector_w16_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_vector_w16(context, call);
    clamp(context, call);
}

void cm_linear_w4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_w4(context, call);
    clamp(context, call);
}

void cm_linear_w4_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_w4_half_up(context, call);
    clamp(context, call);
}

void cm_linear_w4_64_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_w4_64(context, call);
    clamp(context, call);
}

void cm_linear_w4_64_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_w4_64_half_up(context, call);
    clamp(context, call);
}

void cm_linear_w4_128_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_w4_128(context, call);
    clamp(context, call);
}

void cm_linear_w4_128_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_w4_128_half_up(context, call);
    clamp(context, call);
}

void cm_linear_vector_w4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_vector_w4(context, call);
    clamp(context, call);
}

void cm_linear_g4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_g4(context, call);
    clamp(context, call);
}

void cm_linear_g4_half_up_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_g4_half_up(context, call);
    clamp(context, call);
}

void cm_linear_vector_g4_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_linear_vector_g4(context, call);
    clamp(context, call);
}
