/* A filter over the features of the last runs; see compiler/cmcompiler/ops/svdf.py. */
#include "cmrt/args/svdf.h"
#include "cmrt/isa.h"
#include "cmrt/recurrence.h"
#include "cmrt/short_recurrence.h"

/* The features of the input. */
static const int16_t *find_features(const struct cm_context *context, const struct cm_svdf *op)
{
    int16_t *features = cm_write(context, op->features);
    const int32_t count = op->outputs * op->rank;
    struct cm_gate_weights product = {cm_read(context, op->product.weights), op->product.depth, count,
                                      op->product.rounding};
    memset(features, 0, (size_t)count * sizeof *features);
    cm_isa_gemv_s16(&product, cm_read(context, op->input), features, cm_write(context, op->workspace));
    return features;
}

/* int16 features of an int16 input, for which the product's depth is in bytes. */
static const int16_t *find_short_features(const struct cm_context *context, const struct cm_svdf *op,
                                          cm_short_product *multiply)
{
    int16_t *features = cm_write(context, op->features);
    const struct cm_short_gate_product product = {op->product.weights, op->product.depth};
    struct cm_gemm gemm =
        cm_short_gates(context, &product, op->outputs * op->rank, features, cm_write(context, op->workspace));
    gemm.lhs = cm_read(context, op->input);
    multiply(&gemm);
    return features;
}

/* multiply: of int16 numbers; NULL for int8 ones. */
static inline __attribute__((always_inline)) void filter(const struct cm_context *context,
                                                         const struct cm_svdf *op, cm_short_product *multiply)
{
    const int16_t *state = cm_read(context, op->state), *weights = cm_read(context, op->time_weights);
    const int16_t *features =
        multiply == NULL ? find_features(context, op) : find_short_features(context, op, multiply);
    int16_t *final = cm_write(context, op->final);
    const int32_t *bias = cm_read(context, op->bias);
    int8_t *output = cm_write(context, op->output);
    const int32_t rank = op->rank, time = op->time, count = op->outputs * rank, kept = time - 1;
    /* The features [rank, time] of an output, or [time, rank] of rows of all features: they drop the oldest
       ones, and the state may be filtered in place as `final` never is ahead of it. */
    int32_t runs = op->time_first ? kept : rank, run = op->time_first ? rank : kept;
    int32_t next_run = op->time_first ? count : time, later = op->time_first ? count : 1;
    int32_t next = op->time_first ? 1 : time;
    for (int32_t i = 0; i < op->outputs; ++i) {
        int32_t first = i * rank * next, newest = first + kept * later, sum = bias[i];
        for (int32_t j = 0; j < runs; ++j, first += next_run)
            sum = cm_isa_filter_s16(state + first + later, final + first, weights + first, run, sum);
        for (int32_t j = 0; j < rank; ++j, newest += next) {
            final[newest] = *features;
            sum = cm_wrapping_add(sum, *features++ * weights[newest]);
        }
        sum = op->rectify && sum < 0 ? 0 : sum;
        if (multiply != NULL)
            ((int16_t *)(void *)output)[i] = cm_narrow_s16(&op->narrowing, sum);
        else
            output[i] = cm_narrow(&op->narrowing, sum);
    }
}

void cm_svdf(const struct cm_context *context, const struct cm_call *call)
{
    filter(context, call->arguments, NULL);
}

void cm_svdf_s16(const struct cm_context *context, const struct cm_call *call)
{
    filter(context, call->arguments, cm_isa_gemm_s16);
}

/* With sums of any size. */
void cm_svdf_s16_long(const struct cm_context *context, const struct cm_call *call)
{
    filter(context, call->arguments, cm_isa_gemm_s16_long);
}

/* int8 features and weights, the time last. */
void cm_svdf_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_svdf *op = call->arguments;
    const int8_t *state = cm_read(context, op->state), *weights = cm_read(context, op->time_weights);
    const int16_t *features = find_features(context, op);
    int8_t *final = cm_write(context, op->final), *output = cm_write(context, op->output);
    const int32_t *bias = cm_read(context, op->bias);
    const int32_t kept = op->time - 1;
    for (int32_t i = 0; i < op->outputs; ++i) {
        int32_t sum = bias[i];
        for (int32_t j = 0; j < op->rank; ++j) {
            ++state; /* drops the oldest one; it may be filtered in place */
            for (int32_t k = 0; k < kept; ++k, ++state, ++final, ++weights) {
                *final = *state;
                sum = cm_wrapping_add(sum, *final * *weights);
            }
            *final = (int8_t)cm_clamp(*features++, INT8_MIN, INT8_MAX);
            sum = cm_wrapping_add(sum, *final++ * *weights++);
        }
        output[i] = cm_narrow(&op->narrowing, op->rectify && sum < 0 ? 0 : sum);
    }
}
