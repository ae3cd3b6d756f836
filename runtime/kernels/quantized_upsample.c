/* Quantised images resized by bilinear interpolation; see compiler/cmcompiler/ops/quantized_upsample.py. */
#include "cmrt/args/upsample_bilinear_exact.h"
#include "cmrt/args/upsample_bilinear_s8.h"
#include "cmrt/bilinear.h"
#include "cmrt/rows.h"

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

/* Weights have 10 fractional bits, and only the result is rounded. */
enum { EXACT_ONE = 1 << 10, EXACT_HALF = 1 << 19, EXACT_BITS = 10, FINE_BITS = 16 };

/* x * 2^-20 to the nearest integer, halves away from zero. */
static int8_t rounded(int32_t x)
{
    return (int8_t)((x + (x > 0 ? EXACT_HALF : -EXACT_HALF)) / (2 * EXACT_HALF));
}

void cm_upsample_bilinear_exact_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_upsample_bilinear_exact *op = call->arguments;
    const struct cm_blend *rows = cm_read(context, op->rows), *columns = cm_read(context, op->columns);
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0; y < call->y1; ++y) {
            const int8_t *low = cm_read_row(context, &op->input, n, rows[y].low);
            const int8_t *high = cm_read_row(context, &op->input, n, rows[y].high);
            int32_t down = rows[y].weight;
            int8_t *out = cm_write_row(context, &op->output, n, y);
            for (int32_t x = 0; x < op->output.width; ++x) {
                int32_t left = columns[x].low, right = columns[x].high, along = columns[x].weight;
                for (int32_t c = 0; c < op->output.channels; ++c) {
                    int32_t first = low[left + c] * (EXACT_ONE - down) + high[left + c] * down;
                    int32_t second = low[right + c] * (EXACT_ONE - down) + high[right + c] * down;
                    *out++ = rounded(first * (EXACT_ONE - along) + second * along);
                }
            }
        }
}

/* Weights have `bits` fractional bits; inlined, so that they are known. */
static inline __attribute__((always_inline)) void upsample_short(const struct cm_context *context,
                                                                 const struct cm_call *call, int32_t bits)
{
    const struct cm_upsample_bilinear_exact *op = call->arguments;
    const struct cm_blend *rows = cm_read(context, op->rows), *columns = cm_read(context, op->columns);
    const int32_t one = 1 << bits;
    const int64_t half = INT64_C(1) << (2 * bits - 1);
    for (int32_t n = 0; n < op->output.batch; ++n)
        for (int32_t y = call->y0; y < call->y1; ++y) {
            const int16_t *low = (const void *)cm_read_row(context, &op->input, n, rows[y].low);
            const int16_t *high = (const void *)cm_read_row(context, &op->input, n, rows[y].high);
            int32_t down = rows[y].weight;
            int16_t *out = (void *)cm_write_row(context, &op->output, n, y);
            for (int32_t x = 0; x < op->output.width; ++x) {
                int32_t left = columns[x].low, right = columns[x].high, along = columns[x].weight;
                for (int32_t c = 0; c < op->output.channels / 2; ++c) {
                    int32_t first = low[left + c] * (one - down) + high[left + c] * down;
                    int32_t second = low[right + c] * (one - down) + high[right + c] * down;
                    int64_t sum = (int64_t)first * (one - along) + (int64_t)second * along;
                    *out++ = (int16_t)((sum + (sum > 0 ? half : -half)) / (2 * half));
                }
            }
        }
}

void cm_upsample_bilinear_exact_s16(const struct cm_context *context, const struct cm_call *call)
{
    upsample_short(context, call, EXACT_BITS);
}

void cm_upsample_bilinear_exact_fine_s16(const struct cm_context *context, const struct cm_call *call)
{
    upsample_short(context, call, FINE_BITS);
}
