/* Sums of what tables have for two bytes, with MVE eight at a time: even ones in q1 and q3, odd ones in q0
   and q2. Loads reach eight bytes, and only stores are predicated: a tail of 16 bits would let sums of 32
   keep the upper halves of others. */
#include "cmrt/elementwise.h"

#include <arm_mve.h>

/* clang-format off */
#define LOOK_UP(bytes, table, even, odd) \
    "vldrb.u16 q4, [%[" bytes "]], #8\n" \
    "vmovlb.u16 q5, q4\n" \
    "vldrw.u32 " even ", [%[" table "], q5, uxtw #2]\n" \
    "vmovlt.u16 q4, q4\n" \
    "vldrw.u32 " odd ", [%[" table "], q4, uxtw #2]\n"

/* Halves are rounded away from zero: the shift rounds up, and negative numbers are less by one. */
#define ADD_ALL(look_up_rhs) \
    "dls lr, %[blocks]\n" \
    "1:\n" \
    LOOK_UP("lhs", "lhs_table", "q1", "q0") \
    look_up_rhs \
    "vadd.i32 q1, q1, q3\n" \
    "vadd.i32 q0, q0, q2\n" \
    "vqrdmulh.s32 q1, q1, %[multiplier]\n" \
    "vqrdmulh.s32 q0, q0, %[multiplier]\n" \
    "vqdmlah.s32 q1, q1, %[one]\n" \
    "vqdmlah.s32 q0, q0, %[one]\n" \
    "vrshl.s32 q1, %[shift]\n" \
    "vrshl.s32 q0, %[shift]\n" \
    "vqmovnb.s32 q1, q1\n" \
    "vqmovnt.s32 q1, q0\n" \
    "vqadd.s16 q1, q1, %[zero_point]\n" \
    "vmax.s16 q1, q1, %q[minimum]\n" \
    "vmin.s16 q1, q1, %q[maximum]\n" \
    "vctp.16 %[count]\n" \
    "vpst\n" \
    "vstrbt.16 q1, [%[out]], #8\n" \
    "sub %[count], #8\n" \
    "le lr, 1b\n"
/* clang-format on */

#define OUTPUT                                                                                               \
    [multiplier] "r"(sum->output.multiplier), [one] "r"(1), [shift] "r"(sum->output.shift),                  \
        [zero_point] "r"(sum->output.zero_point), [minimum] "w"(vdupq_n_s16((int16_t)sum->minimum)),         \
        [maximum] "w"(vdupq_n_s16((int16_t)sum->maximum)), [lhs_table] "r"(sum->lhs_table),                  \
        [blocks] "r"((count + 7) / 8)

static void with_one(const struct cm_tabled_sum *sum, const int8_t *lhs, int32_t rhs, int8_t *out,
                     int32_t count)
{
    __asm volatile("vdup.32 q3, %[rhs]\n"
                   "vmov q2, q3\n" ADD_ALL("")
                   : [lhs] "+l"(lhs), [out] "+l"(out), [count] "+r"(count)
                   : [rhs] "r"(rhs), OUTPUT
                   : "q0", "q1", "q2", "q3", "q4", "q5", "lr", "memory");
}

static void with_each(const struct cm_tabled_sum *sum, const int8_t *lhs, const int8_t *rhs, int8_t *out,
                      int32_t count)
{
    __asm volatile(ADD_ALL(LOOK_UP("rhs", "rhs_table", "q3", "q2"))
                   : [lhs] "+l"(lhs), [rhs] "+l"(rhs), [out] "+l"(out), [count] "+r"(count)
                   : [rhs_table] "r"(sum->rhs_table), OUTPUT
                   : "q0", "q1", "q2", "q3", "q4", "q5", "lr", "memory");
}

void cm_isa_add_tabled_s8(const struct cm_tabled_sum *sum, const int8_t *lhs, const int8_t *rhs,
                          int32_t rhs_step, int8_t *out, int32_t count)
{
    if (rhs_step == 0)
        with_one(sum, lhs, sum->rhs_table[(uint8_t)*rhs], out, count);
    else
        with_each(sum, lhs, rhs, out, count);
}
