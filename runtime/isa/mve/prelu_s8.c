#include "cmrt/elementwise.h"

void cm_isa_prelu_s8(const struct cm_slopes *slopes, const int8_t *in, int8_t *out, int32_t count)
{
    const int32_t *below = slopes->below;
    __asm volatile(
        "vmov.i32 q3, #0\n"
        "vdup.32 q4, %[minimum]\n"
        "vdup.32 q5, %[maximum]\n"
        "dlstp.32 lr, %[count]\n"
        "1:\n"
        "vldrb.s32 q0, [%[in]], #4\n"
        "vsub.i32 q0, q0, %[zero_point]\n"
        "vldrw.u32 q2, [%[below]], #16\n"
        "vmin.s32 q1, q0, q3\n"
        "vmlas.s32 q1, q2, %[offset]\n"
        "vmax.s32 q0, q0, q3\n"
        "vmla.s32 q1, q0, %[above]\n"
        "vshl.s32 q1, %[left]\n"
        "vmax.s32 q1, q1, q4\n"
        "vmin.s32 q1, q1, q5\n"
        "vstrb.32 q1, [%[out]], #4\n"
        "letp lr, 1b\n"
        : [in] "+l"(in), [below] "+l"(below), [out] "+l"(out)
        : [zero_point] "r"(slopes->zero_point), [above] "r"(slopes->above), [offset] "r"(slopes->offset),
          [left] "r"(-slopes->shift), [minimum] "r"(INT8_MIN), [maximum] "r"(INT8_MAX), [count] "r"(count)
        : "q0", "q1", "q2", "q3", "q4", "q5", "lr", "memory");
}
