/* The loop over time of one recurrent layer in one direction; see
   compiler/cmcompiler/ops/support/recurrence.py. */
#ifndef CMRT_RECURRENCE_H
#define CMRT_RECURRENCE_H

#include "cmrt/args/recurrence.h"
#include "cmrt/gates.h"
#include "cmrt/program.h"

#include <string.h>

/* How a layer's gates lie in memory. */
struct cm_gate_layout {
    int32_t count;        /* for each unit */
    int32_t input_count;  /* of those, so many from the first on take the input's product */
    int32_t hidden_first; /* the first that takes the state's product */
    int32_t hidden_count;
};

/* Adds the products of a row to gates. */
typedef void cm_gate_function(const struct cm_gate_weights *weights, const int8_t *row, int16_t *gates,
                              void *workspace);

typedef void cm_recurrence_step(const struct cm_context *context, const void *op, int32_t batch,
                                const int16_t *gates, int8_t *out);

static inline void cm_recur(const struct cm_context *context, const struct cm_recurrence *r,
                            struct cm_gate_layout layout, cm_gate_function *multiply,
                            cm_recurrence_step *step, const void *op)
{
    const int8_t *input = cm_read(context, r->input);
    int8_t *output = cm_write(context, r->output);
    int16_t *gates = cm_write(context, r->gates);
    void *workspace = cm_write(context, r->workspace);
    struct cm_gate_weights input_weights = {cm_read(context, r->input_product.weights),
                                            r->input_product.depth, layout.input_count * r->units,
                                            r->input_product.rounding};
    struct cm_gate_weights hidden_weights = {cm_read(context, r->hidden_product.weights),
                                             r->hidden_product.depth, layout.hidden_count * r->units,
                                             r->hidden_product.rounding};
    const int8_t *blank = NULL;
    if (r->blank != CM_REF_NONE)
        blank = memset(cm_write(context, r->blank), r->zero_point, (size_t)r->hidden_product.depth);
    for (int32_t i = 0; i < r->steps; ++i)
        for (int32_t n = 0; n < r->batch; ++n) {
            int8_t *out = output + i * r->output_step + n * r->output_batch;
            const int8_t *before = i == 0 && blank != NULL ? blank : out - r->output_step;
            memset(gates, 0, (size_t)(layout.count * r->units) * sizeof *gates);
            multiply(&input_weights, input + i * r->input_step + n * r->input_batch, gates, workspace);
            multiply(&hidden_weights, before, gates + layout.hidden_first * r->units, workspace);
            step(context, op, n, gates, out);
        }
}

/* Writes initial outputs [batch, depth] into the row before the first output. */
static inline void cm_load_rows(const struct cm_context *context, const struct cm_recurrence *r,
                                cm_ref initial, const struct cm_narrowing *narrowing)
{
    const int16_t *from = cm_read(context, initial);
    int8_t *row = (int8_t *)cm_write(context, r->output) - r->output_step;
    for (int32_t n = 0; n < r->batch; ++n, row += r->output_batch)
        for (int32_t i = 0; i < r->hidden_product.depth; ++i)
            row[i] = cm_narrow(narrowing, *from++);
}

/* Sets a state to an initial one or to zero. */
static inline void cm_load_state(const struct cm_context *context, cm_ref state, cm_ref initial,
                                 int32_t count)
{
    size_t bytes = (size_t)count * sizeof(int16_t);
    if (initial == CM_REF_NONE)
        memset(cm_write(context, state), 0, bytes);
    else
        memcpy(cm_write(context, state), cm_read(context, initial), bytes);
}

/* Copies a state to where it is wanted, if it is. */
static inline void cm_store_state(const struct cm_context *context, cm_ref state, cm_ref final, int32_t count)
{
    if (final != CM_REF_NONE)
        memcpy(cm_write(context, final), cm_read(context, state), (size_t)count * sizeof(int16_t));
}

#endif
