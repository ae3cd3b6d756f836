/* Sums of each channel over the rows of an image, which may come a few at a time. */
#ifndef CMRT_ROW_SUMS_H
#define CMRT_ROW_SUMS_H

#include "cmrt/add_rows.h"
#include "cmrt/args/row_sums.h"
#include "cmrt/rows.h"

#include <string.h>

/* How many rows from y on are one piece of memory, at most `most`. */
static inline int32_t cm_rows_in_one_piece(const struct cm_row_sums *op, int32_t y, int32_t most)
{
    const struct cm_rows *input = &op->input;
    if (input->row_stride != op->columns * input->channels)
        return 1;
    int32_t to_end = input->ring - y % input->ring;
    return most < to_end ? most : to_end;
}

/* Adds rows [y0, y1) of the call. Returns the sums if those are all now, else NULL. */
static inline const int32_t *cm_add_to_sums(const struct cm_context *context, const struct cm_row_sums *op,
                                            const struct cm_call *call)
{
    int32_t channels = op->input.channels;
    int32_t *sums = cm_write(context, op->sums);
    if (call->y0 == 0)
        memset(sums, 0, sizeof *sums * (size_t)channels);
    for (int32_t y = call->y0, rows; y < call->y1; y += rows) {
        const int8_t *row = cm_read_row(context, &op->input, 0, op->first_row + y);
        rows = cm_rows_in_one_piece(op, op->first_row + y, call->y1 - y);
        cm_isa_add_rows_s8(row + op->first_column * channels, rows * op->columns, channels, sums);
    }
    return call->y1 == op->rows ? sums : NULL;
}

#endif
