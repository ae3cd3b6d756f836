/* A filter over the features of the last runs; see compiler/cmcompiler/ops/svdf.py. */
#include "cmrt/recurrence.h"

struct cm_svdf {
    cm_ref input, state, final, output;
    cm_ref features, workspace;
    struct cm_gate_product product;
    cm_ref time_weights, bias;
    int32_t outputs, rank, time;
    int32_t rectify, time_first;
    struct cm_narrowing narrowing;
};

/* Drops the oldest features and appends new ones; `from` and `to` may be the same memory. */
static void append(const int16_t *from, int16_t *to, const int16_t *features, int32_t count, int32_t time,
                   int32_t time_first)
{
    int32_t stride = time_first ? 1 : time, step = time_first ? count : 1;
    memmove(to, from + step, (size_t)(count * time - step) * sizeof *to);
    for (int32_t i = 0; i < count; ++i)
        to[i * stride + (time - 1) * step] = features[i];
}

/* Plus the products of the features [rank, time], or [time, rank] of rows that many numbers apart. */
static int32_t filter(const int16_t *features, const int16_t *weights, int32_t sum, int32_t rows,
                      int32_t count, int32_t row)
{
    for (int32_t y = 0; y < rows; ++y, features += row, weights += row)
        for (int32_t x = 0; x < count; ++x)
            sum = cm_wrapping_add(sum, features[x] * weights[x]);
    return sum;
}

void cm_svdf(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_svdf *op = call->arguments;
    int16_t *features = cm_write(context, op->features), *state = cm_write(context, op->final);
    const int16_t *weights = cm_read(context, op->time_weights);
    const int32_t *bias = cm_read(context, op->bias);
    int8_t *output = cm_write(context, op->output);
    int32_t rank = op->rank, count = op->outputs * rank;
    struct cm_gate_weights product = {cm_read(context, op->product.weights), op->product.depth, count,
                                      op->product.rounding};
    memset(features, 0, (size_t)count * sizeof *features);
    cm_isa_gemv_s16(&product, cm_read(context, op->input), features, cm_write(context, op->workspace));
    append(cm_read(context, op->state), state, features, count, op->time, op->time_first);
    int32_t first = op->time_first ? rank : rank * op->time;
    for (int32_t i = 0; i < op->outputs; ++i, state += first, weights += first) {
        int32_t sum = op->time_first ? filter(state, weights, bias[i], op->time, rank, count)
                                     : filter(state, weights, bias[i], 1, first, 0);
        output[i] = cm_narrow(&op->narrowing, op->rectify && sum < 0 ? 0 : sum);
    }
}
