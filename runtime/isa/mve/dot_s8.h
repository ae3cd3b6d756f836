/* Sums and products of int8 rows with MVE, for matrices that no plan has arranged. Lanes past a row's end are
   loaded as zeros. */
#ifndef DOT_S8_H
#define DOT_S8_H

#include <arm_mve.h>
#include <stdint.h>

static inline int32_t sum_row(const int8_t *row, int32_t count)
{
    int32_t sum = 0;
    if (count > 0)
        __asm volatile("dlstp.8 lr, %[count]\n"
                       "1:\n"
                       "vldrb.8 q0, [%[row]], #16\n"
                       "vaddva.s8 %[sum], q0\n"
                       "letp lr, 1b\n"
                       : [sum] "+Te"(sum), [row] "+r"(row)
                       : [count] "r"(count)
                       : "q0", "lr", "memory");
    return sum;
}

static inline int32x4_t four(int32_t sum0, int32_t sum1, int32_t sum2, int32_t sum3)
{
    int32x4_t sums = vdupq_n_s32(sum0);
    sums = vsetq_lane_s32(sum1, sums, 1);
    sums = vsetq_lane_s32(sum2, sums, 2);
    return vsetq_lane_s32(sum3, sums, 3);
}

/* Products of a row with up to four others, `stride` apart; the last one is repeated to make four. */
static inline int32x4_t dot(const int8_t *lhs, const int8_t *rhs, int32_t depth, int32_t stride,
                            int32_t count)
{
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0;
    const int8_t *rhs1 = rhs + (count > 1 ? stride : 0);
    const int8_t *rhs2 = rhs1 + (count > 2 ? stride : 0);
    const int8_t *rhs3 = rhs2 + (count > 3 ? stride : 0);
    if (depth > 0)
        __asm volatile(
            "dlstp.8 lr, %[depth]\n"
            "1:\n"
            "vldrb.8 q0, [%[lhs]], #16\n"
            "vldrb.8 q1, [%[rhs]], #16\n"
            "vmladava.s8 %[sum0], q0, q1\n"
            "vldrb.8 q2, [%[rhs1]], #16\n"
            "vmladava.s8 %[sum1], q0, q2\n"
            "vldrb.8 q1, [%[rhs2]], #16\n"
            "vmladava.s8 %[sum2], q0, q1\n"
            "vldrb.8 q2, [%[rhs3]], #16\n"
            "vmladava.s8 %[sum3], q0, q2\n"
            "letp lr, 1b\n"
            : [lhs] "+r"(lhs), [rhs] "+r"(rhs), [rhs1] "+r"(rhs1), [rhs2] "+r"(rhs2), [rhs3] "+r"(rhs3),
              [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2), [sum3] "+Te"(sum3)
            : [depth] "r"(depth)
            : "q0", "q1", "q2", "lr", "memory");
    return four(sum0, sum1, sum2, sum3);
}

#endif
