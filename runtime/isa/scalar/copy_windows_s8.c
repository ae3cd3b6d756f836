/* Copy of windows of an image. */
#include "cmrt/isa.h"

/* Rows that follow each other in memory: those of windows [i, end), one window after the other. */
static void copy_each(const struct cm_windows *w, int8_t *out, const int8_t *in, int32_t rows, int32_t i,
                      int32_t end)
{
    for (; i < end; ++i) {
        int32_t left = w->left + i * w->in_stride;
        int32_t before = cm_clamp(-left, 0, w->bytes);
        int32_t inside = cm_clamp(w->row_bytes - left, before, w->bytes) - before;
        cm_isa_copy_blocks_s8(out + i * w->out_stride + before, w->out_step, in + left + before, w->in_step,
                              inside, rows);
    }
}

/* Windows inside are copied one row of all after the other if there are more of them than rows. */
static void copy_rows(const struct cm_windows *w, int8_t *out, const int8_t *in, int32_t rows)
{
    const int32_t first = w->first, count = w->end - first, by_rows = count > rows;
    copy_each(w, out, in, rows, 0, by_rows ? first : w->count);
    if (!by_rows)
        return;
    copy_each(w, out, in, rows, w->end, w->count);
    out += first * w->out_stride;
    in += w->left + first * w->in_stride;
    for (; rows > 0; --rows, out += w->out_step, in += w->in_step)
        cm_isa_copy_blocks_s8(out, w->out_stride, in, w->in_stride, w->bytes, count);
}

void cm_isa_copy_windows_s8(const struct cm_windows *w)
{
    int8_t *out = w->out;
    const int8_t *in = w->in;
    for (int32_t left = w->rows, rows; left > 0; left -= rows) {
        int32_t bytes = (int32_t)(w->ring_end - in);
        rows = left;
        if (rows * w->in_step > bytes) {
            int32_t to_end = (bytes + w->in_step - 1) / w->in_step;
            rows = to_end < left ? to_end : left;
        }
        copy_rows(w, out, in, rows);
        out += rows * w->out_step;
        in += rows * w->in_step - w->ring_bytes;
    }
}
