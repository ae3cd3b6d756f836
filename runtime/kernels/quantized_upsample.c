/* Int8 images resized by bilinear interpolation; see compiler/cmcompiler/ops/quantized_upsample.py. */
#include "cmrt/bilinear.h"
#include "cmrt/rows.h"

struct cm_upsample_bilinear_s8 {
    struct cm_rows input, output;
    cm_ref rows, columns; /* a struct cm_blend for each output row and column */
    cm_ref row;           /* an input row of int16 */
};

void cm_upsample_bilinear_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_upsample_bilinear_s8 *op = call->arguments;
    const struct cm_blend *rows = cm_read(context, op->rows);
    struct cm_bilinear_row row = {
        .blended = cm_write(context, op->row),
        .count = op->input.width * op->input.channels,
        .columns = cm_read(context, op->columns),
        .width = op->output.width,
        .channels = op->output.channels,
    };
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0; y < call->y1; ++y) {
            row.low = cm_read_row(context, &op->input, n, rows[y].low);
            row.high = cm_read_row(context, &op->input, n, rows[y].high);
            row.weight = rows[y].weight;
            row.out = cm_write_row(context, &op->output, n, y);
            cm_isa_bilinear_row_s8(&row);
        }
}
