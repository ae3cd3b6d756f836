#include "cmrt/elementwise.h"

#include <arm_mve.h>

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

/* clang-format off */
/* Eight elements as q1 and q2, then as 16 bits in q0. Those of the eight before are clamped and stored
   meanwhile. */
#define EIGHT(CLAMP_LOW, CLAMP_HIGH, STORE) \
    "vldrb.s32 q1, [%[lhs]], #8\n" \
    "vmlas.s32 q1, %q[lhs_factor], %[offset]\n" \
    "vldrb.s32 q3, [%[rhs]], #8\n" \
    "vmla.s32 q1, q3, %[rhs_factor]\n" \
    CLAMP_LOW \
    "vldrb.s32 q2, [%[lhs], #-4]\n" \
    "vmlas.s32 q2, %q[lhs_factor], %[offset]\n" \
    "vshl.s32 q1, %[left]\n" \
    "vldrb.s32 q3, [%[rhs], #-4]\n" \
    CLAMP_HIGH \
    "vmla.s32 q2, q3, %[rhs_factor]\n" \
    "vshl.s32 q2, %[left]\n" \
    STORE \
    "vqmovnb.s32 q0, q1\n" \
    "vqmovnt.s32 q0, q2\n"
#define CLAMP_LOW "vmax.s16 q0, q0, %q[minimum]\n"
#define CLAMP_HIGH "vmin.s16 q0, q0, %q[maximum]\n"
#define STORE \
    "vstrb.16 q0, [%[out], %q[places]]\n" \
    "adds %[out], #8\n"

/* `groups` of eight elements, at least one. */
static void with_each_of_eight(const struct cm_affine *affine, const int8_t *lhs, const int8_t *rhs,
                               int8_t *out, int32_t groups)
{
    static const uint16_t places[8] = {0, 4, 1, 5, 2, 6, 3, 7};
    __asm volatile(EIGHT("", "", "")
                   "wls lr, %[rounds], 2f\n"
                   "1:\n"
                   EIGHT(CLAMP_LOW, CLAMP_HIGH, STORE)
                   "le lr, 1b\n"
                   "2:\n"
                   CLAMP_LOW
                   CLAMP_HIGH
                   STORE
                   : [lhs] "+l"(lhs), [rhs] "+l"(rhs), [out] "+l"(out)
                   : [rhs_factor] "r"(affine->rhs_factor), [offset] "r"(affine->offset),
                     [left] "r"(-affine->shift), [rounds] "r"(groups - 1),
                     [lhs_factor] "w"(vdupq_n_s32(affine->lhs_factor)),
                     [minimum] "w"(vdupq_n_s16((int16_t)affine->minimum)),
                     [maximum] "w"(vdupq_n_s16((int16_t)affine->maximum)), [places] "w"(vldrhq_u16(places))
                   : "q0", "q1", "q2", "q3", "lr", "cc", "memory");
}
/* clang-format on */

void cm_isa_add_affine_s8(const struct cm_affine *affine, const int8_t *lhs, const int8_t *rhs,
                          int32_t rhs_step, int8_t *out, int32_t count)
{
    if (rhs_step == 0) {
        with_one(affine, lhs, affine->offset + *rhs * affine->rhs_factor, out, count);
        return;
    }
    int32_t groups = count / 8, done = 8 * groups;
    if (groups > 0)
        with_each_of_eight(affine, lhs, rhs, out, groups);
    if (count > done)
        with_each(affine, lhs + done, rhs + done, out + done, count - done);
}
