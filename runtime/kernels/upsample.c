/* Images resized by interpolation; see compiler/cmcompiler/ops/upsample.py. */
#include "cmrt/args/bilinear_f32.h"
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"

/* (1 - weight) * the input at offset low + weight * that at offset high. */
struct blend {
    int32_t low, high;
    uint32_t weight; /* float */
};

static float between(float low, float high, uint32_t weight)
{
    float w = cm_float(weight);
    return low * (1 - w) + high * w;
}

static void blend_image(const struct cm_context *context, const struct cm_bilinear_f32 *op,
                        const float *image, float *output)
{
    const struct blend *rows = cm_read(context, op->row_table);
    const struct blend *columns = cm_read(context, op->column_table);
    for (int32_t y = 0; y < op->rows; ++y)
        for (int32_t x = 0; x < op->columns; ++x) {
            const float *low = image + rows[y].low, *high = image + rows[y].high;
            const struct blend *column = &columns[x];
            float above = between(low[column->low], low[column->high], column->weight);
            float below = between(high[column->low], high[column->high], column->weight);
            output[y * op->output_rows + x * op->output_columns] = between(above, below, rows[y].weight);
        }
}

void cm_bilinear_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_bilinear_f32 *op = call->arguments;
    const float *input = cm_read(context, op->input);
    float *output = cm_write(context, op->output);
    for (int32_t n = 0; n < op->batch; ++n)
        for (int32_t c = 0; c < op->channels; ++c)
            blend_image(context, op, input + n * op->input_batch + c * op->input_channel,
                        output + n * op->output_batch + c * op->output_channels);
}
