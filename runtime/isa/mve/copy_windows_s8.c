/* Copy of windows of an image. */
#include "cmrt/isa.h"
#include "copy_blocks.h"

/* Rows of up to 16 bytes. */
static inline void copy_short_rows(const struct cm_windows *w, int8_t *out, const int8_t *in,
                                   const int8_t *ring_end, int32_t bytes)
{
    if (in + (w->rows - 1) * w->in_step < ring_end) {
        copy_short(out, w->out_step, in, w->in_step, bytes, w->rows);
        return;
    }
    __asm volatile("vctp.8 %[bytes]\n"
                   "dls lr, %[rows]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]]\n"
                   "add %[in], %[in_step]\n"
                   "cmp %[in], %[ring_end]\n"
                   "it hs\n"
                   "subhs %[in], %[ring_bytes]\n"
                   "vpst\n"
                   "vstrbt.8 q0, [%[out]]\n"
                   "add %[out], %[out_step]\n"
                   "le lr, 1b\n"
                   : [in] "+r"(in), [out] "+r"(out)
                   : [bytes] "r"(bytes), [rows] "r"(w->rows), [in_step] "r"(w->in_step),
                     [out_step] "r"(w->out_step), [ring_end] "r"(ring_end), [ring_bytes] "r"(w->ring_bytes)
                   : "q0", "lr", "cc", "memory");
}

/* All rows of window i. */
static __attribute__((noinline)) void copy_window(const struct cm_windows *w, int32_t i)
{
    const int32_t left = w->left + i * w->in_stride, before = left < 0 ? -left : 0,
                  after = w->row_bytes - left;
    const int32_t inside = (after < w->bytes ? after : w->bytes) - before;
    const int8_t *in = w->in + left + before;
    const int8_t *const ring_end = w->ring_end + left + before;
    int8_t *out = w->out + i * w->out_stride + before;
    if (inside <= VECTOR) {
        if (inside > 0)
            copy_short_rows(w, out, in, ring_end, inside);
        return;
    }
    for (int32_t rows = w->rows; rows > 0; --rows) {
        copy_one(out, in, inside);
        out += w->out_step;
        in += w->in_step;
        if (in >= ring_end)
            in -= w->ring_bytes;
    }
}

void cm_isa_copy_windows_s8(const struct cm_windows *w)
{
    const int32_t first = w->first, count = w->end - first, left = w->left + first * w->in_stride;
    for (int32_t i = 0; i < first; ++i)
        copy_window(w, i);
    for (int32_t i = w->end; i < w->count; ++i)
        copy_window(w, i);
    const int8_t *in = w->in + left;
    int8_t *out = w->out + first * w->out_stride;
    if (count > w->rows) {
        for (int32_t rows = w->rows; rows > 0; --rows) {
            copy_blocks(out, w->out_stride, in, w->in_stride, w->bytes, count);
            out += w->out_step;
            in += w->in_step;
            if (in >= w->ring_end + left)
                in -= w->ring_bytes;
        }
    } else if (w->bytes <= VECTOR && w->in + (w->rows - 1) * w->in_step < w->ring_end) {
        for (int32_t i = 0; i < count; ++i, out += w->out_stride, in += w->in_stride)
            copy_short(out, w->out_step, in, w->in_step, w->bytes, w->rows);
    } else {
        for (int32_t i = first; i < w->end; ++i)
            copy_window(w, i);
    }
}
