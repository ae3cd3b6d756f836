#include "cmrt/bilinear.h"

/* VQRDMULH rounds the product's 15 fractional bits as the reference does; differences of pixels fit 16 bits.
 */
static void blend_rows(const struct cm_bilinear_row *row)
{
    const int8_t *low = row->low, *high = row->high;
    int16_t *out = row->blended;
    __asm volatile("dlstp.16 lr, %[count]\n"
                   "1:\n"
                   "vldrb.s16 q0, [%[low]], #8\n"
                   "vldrb.s16 q1, [%[high]], #8\n"
                   "vshl.i16 q0, q0, %[fraction]\n"
                   "vshl.i16 q1, q1, %[fraction]\n"
                   "vsub.i16 q1, q1, q0\n"
                   "vqrdmulh.s16 q1, q1, %[weight]\n"
                   "vadd.i16 q0, q0, q1\n"
                   "vstrh.16 q0, [%[out]], #16\n"
                   "letp lr, 1b\n"
                   : [low] "+l"(low), [high] "+l"(high), [out] "+l"(out)
                   : [count] "r"(row->count), [weight] "r"(row->weight), [fraction] "i"(CM_BILINEAR_FRACTION)
                   : "q0", "q1", "lr", "memory");
}

/* One output pixel. */
static inline void blend_columns(const int16_t *low, const int16_t *high, int32_t weight, int8_t *out,
                                 int32_t channels)
{
    __asm volatile("dlstp.16 lr, %[channels]\n"
                   "1:\n"
                   "vldrh.u16 q0, [%[low]], #16\n"
                   "vldrh.u16 q1, [%[high]], #16\n"
                   "vsub.i16 q1, q1, q0\n"
                   "vqrdmulh.s16 q1, q1, %[weight]\n"
                   "vadd.i16 q0, q0, q1\n"
                   "vrshr.s16 q0, q0, %[fraction]\n"
                   "vstrb.16 q0, [%[out]], #8\n"
                   "letp lr, 1b\n"
                   : [low] "+l"(low), [high] "+l"(high), [out] "+l"(out)
                   : [channels] "r"(channels), [weight] "r"(weight), [fraction] "i"(CM_BILINEAR_FRACTION)
                   : "q0", "q1", "lr", "memory");
}

void cm_isa_bilinear_row_s8(const struct cm_bilinear_row *row)
{
    int32_t channels = row->channels;
    int8_t *out = row->out;
    blend_rows(row);
    for (int32_t x = 0; x < row->width; ++x, out += channels) {
        const struct cm_blend *blend = row->columns + x;
        blend_columns(row->blended + blend->low, row->blended + blend->high, blend->weight, out, channels);
    }
}
