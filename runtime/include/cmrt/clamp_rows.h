/* Bounds of outputs beside those of int8, after kernels that saturate. */
#ifndef CMRT_CLAMP_ROWS_H
#define CMRT_CLAMP_ROWS_H

#include "cmrt/isa.h"
#include "cmrt/program.h"
#include "cmrt/rows.h"

/* Clamps the rows of outputs that a call has computed; pixels are `pixel` bytes apart. */
static inline void cm_clamp_rows(const struct cm_context *context, const struct cm_call *call,
                                 const struct cm_rows *output, int32_t pixel, int32_t minimum,
                                 int32_t maximum)
{
    for (int32_t n = 0; n < output->batch; ++n)
        for (int32_t y = call->y0; y < call->y1; ++y) {
            int8_t *const row = cm_write_row(context, output, n, y);
            if (pixel == output->channels) {
                cm_isa_clamp_s8(row, output->width * pixel, minimum, maximum);
                continue;
            }
            for (int32_t x = 0; x < output->width; ++x)
                cm_isa_clamp_s8(row + x * pixel, output->channels, minimum, maximum);
        }
}

#endif
