/* The loop over time of one recurrent layer of int16 numbers; see
   compiler/cmcompiler/ops/support/short_recurrence.py. */
#ifndef CMRT_SHORT_RECURRENCE_H
#define CMRT_SHORT_RECURRENCE_H

#include "cmrt/args/short_recurrence.h"
#include "cmrt/isa.h"
#include "cmrt/recurrence.h"

/* Computes one row of a batch from its gates. */
typedef void cm_short_step(const struct cm_context *context, const void *op, int32_t batch,
                           const int16_t *gates, int16_t *out);

typedef void cm_short_product(const struct cm_gemm *gemm);

/* A product of a row, added to gates with saturation. */
static inline void cm_add_short_product(cm_short_product *multiply, struct cm_gemm *gemm, int16_t *gates)
{
    multiply(gemm);
    const int16_t *products = (const int16_t *)(const void *)gemm->out;
    for (int32_t k = 0; k < gemm->columns / (int32_t)sizeof *products; ++k)
        gates[k] = cm_clamp_s16(gates[k] + products[k]);
}

static inline struct cm_gemm cm_short_gates(const struct cm_context *context,
                                            const struct cm_short_gate_product *product, int32_t gates,
                                            int16_t *out, void *workspace)
{
    return (struct cm_gemm){
        .lhs_stride = product->depth,
        .rows = 1,
        .weights = product->weights == CM_REF_NONE ? NULL : cm_read(context, product->weights),
        .depth = product->depth,
        .columns = gates * (int32_t)sizeof *out,
        .out = (int8_t *)out,
        .out_stride = gates * (int32_t)sizeof *out,
        .workspace = workspace,
    };
}

static inline void cm_short_recur(const struct cm_context *context, const struct cm_short_recurrence *r,
                                  struct cm_gate_layout layout, cm_short_product *multiply,
                                  cm_short_step *step, const void *op)
{
    const int8_t *input = cm_read(context, r->input);
    int8_t *output = cm_write(context, r->output);
    int16_t *gates = cm_write(context, r->gates), *products = cm_write(context, r->products);
    void *workspace = cm_write(context, r->workspace);
    int16_t *added = gates + layout.hidden_first * r->units;
    int32_t inputs = layout.input_count * r->units, hidden = layout.hidden_count * r->units;
    struct cm_gemm of_input = cm_short_gates(context, &r->input_product, inputs, gates, workspace);
    struct cm_gemm of_hidden = cm_short_gates(context, &r->hidden_product, hidden, products, workspace);
    struct cm_gemm low_input = cm_short_gates(context, &r->low_input_product, inputs, products, workspace);
    struct cm_gemm low_hidden = cm_short_gates(context, &r->low_hidden_product, hidden, products, workspace);
    const int8_t *blank = NULL;
    if (r->blank != CM_REF_NONE)
        blank = memset(cm_write(context, r->blank), 0, (size_t)r->hidden_product.depth);
    for (int32_t i = 0; i < r->steps; ++i)
        for (int32_t n = 0; n < r->batch; ++n) {
            int8_t *out = output + i * r->output_step + n * r->output_batch;
            of_input.lhs = input + i * r->input_step + n * r->input_batch;
            of_hidden.lhs = i == 0 && blank != NULL ? blank : out - r->output_step;
            low_input.lhs = of_input.lhs;
            low_hidden.lhs = of_hidden.lhs;
            memset(gates + inputs, 0, (size_t)(layout.count * r->units - inputs) * sizeof *gates);
            multiply(&of_input);
            if (low_input.weights != NULL)
                cm_add_short_product(multiply, &low_input, gates);
            cm_add_short_product(multiply, &of_hidden, added);
            if (low_hidden.weights != NULL)
                cm_add_short_product(multiply, &low_hidden, added);
            step(context, op, n, gates, (int16_t *)(void *)out);
        }
}

/* Without a zero point. */
static inline int16_t cm_narrow_s16(const struct cm_narrowing *narrowing, int32_t x)
{
    return cm_clamp_s16(cm_requantize(x, narrowing->multiplier, narrowing->shift));
}

/* Writes initial outputs [batch, depth] into the row before the first output. */
static inline void cm_load_short_rows(const struct cm_context *context, const struct cm_short_recurrence *r,
                                      cm_ref initial, const struct cm_narrowing *narrowing)
{
    const int16_t *from = cm_read(context, initial);
    int8_t *row = (int8_t *)cm_write(context, r->output) - r->output_step;
    int32_t depth = r->hidden_product.depth / (int32_t)sizeof *from;
    for (int32_t n = 0; n < r->batch; ++n, row += r->output_batch) {
        int16_t *numbers = (int16_t *)(void *)row;
        for (int32_t i = 0; i < depth; ++i)
            numbers[i] = cm_narrow_s16(narrowing, *from++);
    }
}

#endif
