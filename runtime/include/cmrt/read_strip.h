/* What windows of an implicit product see of a row. */
#ifndef CMRT_READ_STRIP_H
#define CMRT_READ_STRIP_H

#include "cmrt/args/implicit_conv2d.h"
#include "cmrt/program.h"
#include "cmrt/rows.h"

#include <string.h>

/* What the windows see of row y, the first of them from byte `left` on: there, or in the strip if that is
   not all inside of the image. */
static const int8_t *cm_read_strip(const struct cm_implicit_conv2d *op, const int8_t *image, int32_t y,
                                   int32_t left, int8_t *strip)
{
    const int32_t bytes = op->strip;
    int32_t first = bytes, end = bytes;
    if (y >= 0 && y < op->input.height) {
        const int8_t *const row = image + cm_row_offset(&op->input, 0, y) + left;
        first = cm_clamp(-left, 0, bytes);
        end = cm_clamp(op->input.width * op->input.channels - left, first, bytes);
        if (end - first == bytes)
            return row;
        memcpy(strip + first, row + first, (size_t)(end - first));
    }
    memset(strip, op->input_zero_point, (size_t)first);
    memset(strip + end, op->input_zero_point, (size_t)(bytes - end));
    return strip;
}

#endif
