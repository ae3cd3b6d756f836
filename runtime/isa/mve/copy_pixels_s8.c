/* Copy of pixels to places apart with MVE: several small ones at once, or one by one. */
#include "cmrt/isa.h"
#include "copy_blocks.h"

enum { FARTHEST = 0xff /* of a vector's bytes from the first one */ };

/* Of each byte of a vector of whole pixels, the distance that it moves by: the quotient of its number by
   `bytes` is the high half of a product, exact below 16. */
static inline uint8x16_t find_offsets(int32_t stride, int32_t bytes)
{
    const uint8x16_t lane = vidupq_n_u8(0, 1);
    const uint8x16_t pixel = bytes == 1 ? lane : vmulhq_u8(lane, vdupq_n_u8((uint8_t)(256 / bytes + 1)));
    return vmlaq_n_u8(lane, pixel, (uint8_t)(stride - bytes));
}

/* So many pixels of `bytes` bytes, `at_once` by a vector. */
static inline void copy_small(int8_t *out, int32_t stride, const int8_t *in, int32_t bytes, int32_t count,
                              int32_t at_once)
{
    const uint8x16_t offsets = find_offsets(stride, bytes);
    const int32_t vectors = count / at_once, step = at_once * stride, read = at_once * bytes;
    __asm volatile("vctp.8 %[read]\n"
                   "wls lr, %[vectors], 2f\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]]\n"
                   "add %[in], %[read]\n"
                   "vpst\n"
                   "vstrbt.8 q0, [%[out], %q[offsets]]\n"
                   "add %[out], %[step]\n"
                   "le lr, 1b\n"
                   "2:\n"
                   "vctp.8 %[rest]\n"
                   "vldrb.8 q0, [%[in]]\n"
                   "vpst\n"
                   "vstrbt.8 q0, [%[out], %q[offsets]]\n"
                   : [in] "+r"(in), [out] "+r"(out)
                   : [vectors] "r"(vectors), [read] "r"(read), [step] "r"(step), [offsets] "w"(offsets),
                     [rest] "r"((count - vectors * at_once) * bytes)
                   : "q0", "lr", "memory");
}

void cm_isa_copy_pixels_s8(int8_t *out, int32_t stride, const int8_t *in, int32_t bytes, int32_t count)
{
    const int32_t at_once = bytes < VECTOR / 2 ? (int32_t)((uint32_t)VECTOR / (uint32_t)bytes) : 1;
    if (count <= 0)
        return;
    if (at_once > 1 && (at_once - 1) * stride + bytes - 1 <= FARTHEST)
        copy_small(out, stride, in, bytes, count, at_once);
    else
        copy_blocks(out, stride, in, bytes, bytes, count);
}
