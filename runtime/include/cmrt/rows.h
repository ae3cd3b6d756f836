/* Views of image rows: a whole tensor and a ring buffer of rows look the same to a kernel. */
#ifndef CMRT_ROWS_H
#define CMRT_ROWS_H

#include "cmrt/args/rows.h"
#include "cmrt/program.h"

/* The place of a row in its ring. */
static inline int32_t cm_ring_slot(const struct cm_rows *rows, int32_t y)
{
    return y < rows->ring ? y : y % rows->ring;
}

static inline uint32_t cm_row_offset(const struct cm_rows *rows, int32_t n, int32_t y)
{
    const int32_t slot = cm_ring_slot(rows, y);
    return (uint32_t)(n * rows->batch_stride + slot * rows->row_stride);
}

static inline const int8_t *cm_read_row(const struct cm_context *context, const struct cm_rows *rows,
                                        int32_t n, int32_t y)
{
    return (const int8_t *)cm_read(context, rows->data) + cm_row_offset(rows, n, y);
}

static inline int8_t *cm_write_row(const struct cm_context *context, const struct cm_rows *rows, int32_t n,
                                   int32_t y)
{
    return (int8_t *)cm_write(context, rows->data) + cm_row_offset(rows, n, y);
}

/* The number of rows from y on up to the end of the ring, at most `limit`. */
static inline int32_t cm_rows_to_end(const struct cm_rows *rows, int32_t y, int32_t limit)
{
    int32_t to_end = rows->ring - cm_ring_slot(rows, y);
    return limit < to_end ? limit : to_end;
}

/* Of at most `most` windows down the rows, the first one from row `top` on and each `stride` rows after the
   one before, how many lie inside the image and in one piece of its ring; `reach` is from a window's first
   row to its last. */
static inline int32_t cm_windows_in_one_piece(const struct cm_rows *rows, int32_t top, int32_t reach,
                                              int32_t stride, int32_t most)
{
    if (top < 0)
        return 0;
    int32_t to_end = rows->ring - top % rows->ring, below = rows->height - top;
    int32_t room = (to_end < below ? to_end : below) - reach;
    if (room <= 0)
        return 0;
    int32_t count = (room - 1) / stride + 1;
    return count < most ? count : most;
}

#endif
