/* Copy of pixels to places apart with MVE: several small ones at once, or one by one. */
#include "cmrt/isa.h"
#include "copy_blocks.h"

enum { FARTHEST = 0xff /* of a vector's bytes from the first one */ };

/* Pixels of so many bytes in a vector: whole ones, the last one with a byte in it, and 256 / bytes, rounded
   up. */
struct small_pixels {
    uint8_t at_once, last, reciprocal;
};

/* Of each byte of a vector of pixels, the distance that it moves by: the quotient of its number by `bytes` is
   the high half of a product, exact below 16. */
static inline uint8x16_t find_offsets(const struct small_pixels *pixels, int32_t stride, int32_t bytes)
{
    const uint8x16_t lane = vidupq_n_u8(0, 1);
    const uint8x16_t pixel = bytes == 1 ? lane : vmulhq_u8(lane, vdupq_n_u8(pixels->reciprocal));
    return vmlaq_n_u8(lane, pixel, (uint8_t)(stride - bytes));
}

/* So many pixels of `bytes` bytes, at least one. Each vector but the last one also writes the first bytes of
   the next pixel, which the next vector writes again. */
static inline void copy_small(const struct small_pixels *pixels, int8_t *out, int32_t stride,
                              const int8_t *in, int32_t bytes, int32_t count)
{
    const uint8x16_t offsets = find_offsets(pixels, stride, bytes);
    const int32_t at_once = pixels->at_once, vectors = (count - 1) / at_once;
    __asm volatile("wls lr, %[vectors], 2f\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]]\n"
                   "add %[in], %[read]\n"
                   "vstrb.8 q0, [%[out], %q[offsets]]\n"
                   "add %[out], %[step]\n"
                   "le lr, 1b\n"
                   "2:\n"
                   "vctp.8 %[rest]\n"
                   "vldrb.8 q0, [%[in]]\n"
                   "vpst\n"
                   "vstrbt.8 q0, [%[out], %q[offsets]]\n"
                   : [in] "+r"(in), [out] "+r"(out)
                   : [vectors] "r"(vectors), [read] "r"(at_once * bytes), [step] "r"(at_once * stride),
                     [offsets] "w"(offsets), [rest] "r"((count - vectors * at_once) * bytes)
                   : "q0", "lr", "memory");
}

void cm_isa_copy_pixels_s8(int8_t *out, int32_t stride, const int8_t *in, int32_t bytes, int32_t count)
{
    static const struct small_pixels all[] = {{16, 15, 0}, {8, 7, 128}, {5, 5, 86}, {4, 3, 64},
                                              {3, 3, 52},  {2, 2, 43},  {2, 2, 37}};
    if (count <= 0)
        return;
    if (bytes < VECTOR / 2) {
        const struct small_pixels *const pixels = &all[bytes - 1];
        if (pixels->last * stride + bytes - 1 <= FARTHEST) {
            copy_small(pixels, out, stride, in, bytes, count);
            return;
        }
    }
    copy_blocks(out, stride, in, bytes, bytes, count);
}
