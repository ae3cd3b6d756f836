#include "cmrt/elementwise.h"

/* Vectors of a row: pairs of four elements, and elements that are left; those that the last four lack. */
struct row {
    const int32_t *below;
    int32_t pairs, rest, lacking;
};

/* Four elements of `x`, whose factors are loaded to `sum`, are the sum of
   below * min(x, 0) + above * x - above * min(x, 0) and the offset, shifted. */
void cm_isa_prelu_s8(const struct cm_slopes *slopes, const int8_t *in, int8_t *out, int32_t channels,
                     int32_t rows)
{
    static const uint16_t places[8] = {0, 4, 1, 5, 2, 6, 3, 7}; /* of outputs, as pairs are joined */
    const struct row row = {slopes->below, channels / 8, channels % 8, -channels & 3};
    const int32_t *below;
    __asm volatile(
        "vmov.i32 q6, #0\n"
        "vldrh.16 q7, [%[below]]\n"
        "1:\n"
        "ldrd %[below], lr, [%[row]]\n"
        "wls lr, lr, 3f\n"
        "2:\n"
        "vldrb.s32 q0, [%[in]], #4\n"
        "vsub.i32 q0, q0, %[zero_point]\n"
        "vldrb.s32 q3, [%[in]], #4\n"
        "vmin.s32 q1, q0, q6\n"
        "vldrw.32 q2, [%[below]], #16\n"
        "vmlas.s32 q2, q1, %[offset]\n"
        "vldrw.32 q5, [%[below]], #16\n"
        "vmla.s32 q2, q0, %[above]\n"
        "vsub.i32 q3, q3, %[zero_point]\n"
        "vmla.s32 q2, q1, %[minus]\n"
        "vmin.s32 q4, q3, q6\n"
        "vmlas.s32 q5, q4, %[offset]\n"
        "vshl.s32 q2, %[left]\n"
        "vmla.s32 q5, q3, %[above]\n"
        "vqmovnb.s32 q0, q2\n"
        "vmla.s32 q5, q4, %[minus]\n"
        "vshl.s32 q5, %[left]\n"
        "vqmovnt.s32 q0, q5\n"
        "vqmovnb.s16 q0, q0\n"
        "vstrb.16 q0, [%[out], q7]\n"
        "add %[out], #8\n"
        "le lr, 2b\n"
        "3:\n"
        "ldr lr, [%[row], #8]\n"
        "wlstp.32 lr, lr, 5f\n"
        "4:\n"
        "vldrb.s32 q0, [%[in]], #4\n"
        "vldrw.32 q2, [%[below]], #16\n"
        "vsub.i32 q0, q0, %[zero_point]\n"
        "vmin.s32 q1, q0, q6\n"
        "vmlas.s32 q2, q1, %[offset]\n"
        "vmla.s32 q2, q0, %[above]\n"
        "vmla.s32 q2, q1, %[minus]\n"
        "vshl.s32 q2, %[left]\n"
        "vqmovnb.s32 q2, q2\n"
        "vqmovnb.s16 q2, q2\n"
        "vstrb.32 q2, [%[out]], #4\n"
        "letp lr, 4b\n"
        "ldr lr, [%[row], #12]\n"
        "sub %[in], lr\n"
        "sub %[out], lr\n"
        "5:\n"
        "subs %[rows], #1\n"
        "bgt 1b\n"
        : [in] "+l"(in), [below] "=&r"(below), [out] "+l"(out), [rows] "+r"(rows)
        : "1"(places), [row] "r"(&row), [zero_point] "r"(slopes->zero_point), [above] "r"(slopes->above),
          [minus] "r"(-slopes->above), [offset] "r"(slopes->offset), [left] "r"(-slopes->shift)
        : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}
