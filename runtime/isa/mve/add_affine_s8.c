#include "cmrt/elementwise.h"

/* One operand, the other folded into the offset. */
static void with_one(const struct cm_affine *affine, const int8_t *lhs, int32_t offset, int8_t *out,
                     int32_t count)
{
    __asm volatile("vdup.32 q2, %[lhs_factor]\n"
                   "vdup.32 q4, %[minimum]\n"
                   "vdup.32 q5, %[maximum]\n"
                   "dlstp.32 lr, %[count]\n"
                   "1:\n"
                   "vldrb.s32 q0, [%[lhs]], #4\n"
                   "vmlas.s32 q0, q2, %[offset]\n"
                   "vshl.s32 q0, %[left]\n"
                   "vmax.s32 q0, q0, q4\n"
                   "vmin.s32 q0, q0, q5\n"
                   "vstrb.32 q0, [%[out]], #4\n"
                   "letp lr, 1b\n"
                   : [lhs] "+l"(lhs), [out] "+l"(out)
                   : [lhs_factor] "r"(affine->lhs_factor), [offset] "r"(offset), [left] "r"(-affine->shift),
                     [minimum] "r"(affine->minimum), [maximum] "r"(affine->maximum), [count] "r"(count)
                   : "q0", "q2", "q4", "q5", "lr", "memory");
}

static void with_each(const struct cm_affine *affine, const int8_t *lhs, const int8_t *rhs, int8_t *out,
                      int32_t count)
{
    __asm volatile("vdup.32 q2, %[lhs_factor]\n"
                   "vdup.32 q4, %[minimum]\n"
                   "vdup.32 q5, %[maximum]\n"
                   "dlstp.32 lr, %[count]\n"
                   "1:\n"
                   "vldrb.s32 q0, [%[lhs]], #4\n"
                   "vldrb.s32 q1, [%[rhs]], #4\n"
                   "vmlas.s32 q0, q2, %[offset]\n"
                   "vmla.s32 q0, q1, %[rhs_factor]\n"
                   "vshl.s32 q0, %[left]\n"
                   "vmax.s32 q0, q0, q4\n"
                   "vmin.s32 q0, q0, q5\n"
                   "vstrb.32 q0, [%[out]], #4\n"
                   "letp lr, 1b\n"
                   : [lhs] "+l"(lhs), [rhs] "+l"(rhs), [out] "+l"(out)
                   : [lhs_factor] "r"(affine->lhs_factor), [rhs_factor] "r"(affine->rhs_factor),
                     [offset] "r"(affine->offset), [left] "r"(-affine->shift), [minimum] "r"(affine->minimum),
                     [maximum] "r"(affine->maximum), [count] "r"(count)
                   : "q0", "q1", "q2", "q4", "q5", "lr", "memory");
}

void cm_isa_add_affine_s8(const struct cm_affine *affine, const int8_t *lhs, const int8_t *rhs,
                          int32_t rhs_step, int8_t *out, int32_t count)
{
    if (rhs_step == 0)
        with_one(affine, lhs, affine->offset + *rhs * affine->rhs_factor, out, count);
    else
        with_each(affine, lhs, rhs, out, count);
}
