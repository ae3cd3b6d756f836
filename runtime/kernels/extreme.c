/* Largest or smallest int8 numbers; see compiler/cmcompiler/ops/extreme.py. */
#include "cmrt/extreme.h"
#include "cmrt/args/extreme_image_s8.h"
#include "cmrt/args/extreme_s8.h"
#include "cmrt/rows.h"

#include <string.h>

static void start(int8_t *extremes, int32_t count, int32_t flip)
{
    memset(extremes, INT8_MIN ^ flip, (size_t)count);
}

void cm_extreme_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_extreme_s8 *op = call->arguments;
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    start(output, op->outer * op->inner, op->flip);
    for (int32_t i = 0; i < op->outer; ++i, output += op->inner) {
        cm_isa_extreme_rows_s8(input, op->members, op->inner, op->flip, output);
        input += op->members * op->inner;
    }
}

/* Of each channel over rows and columns of an image, row by row. */
void cm_extreme_image_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_extreme_image_s8 *op = call->arguments;
    int32_t channels = op->input.channels;
    int8_t *extremes = cm_write(context, op->extremes);
    if (call->y0 == 0)
        start(extremes, channels, op->flip);
    for (int32_t y = call->y0; y < call->y1; ++y)
        cm_isa_extreme_rows_s8(cm_read_row(context, &op->input, 0, y), op->input.width, channels, op->flip,
                               extremes);
    if (call->y1 == op->rows)
        memcpy(cm_write(context, op->output), extremes, (size_t)channels);
}
