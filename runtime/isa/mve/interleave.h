/* Interleaves sixteen channels of four input rows: column by column, the four bytes of each channel. */
#ifndef INTERLEAVE_H
#define INTERLEAVE_H

#include "cmrt/taps.h"

/* Writes `count` columns of 64 bytes, `stride` bytes apart. */
static inline void interleave(const struct cm_four_rows *rows, int8_t *columns, int32_t stride, int32_t count)
{
    const int8_t *row0 = rows->at[0], *row1 = rows->at[1], *row2 = rows->at[2], *row3 = rows->at[3];
    if (count <= 0)
        return;
    __asm volatile(
        "dls lr, %[count]\n"
        "1:\n"
        "vldrb.8 q0, [%[row0]]\n"
        "add %[row0], %[step0]\n"
        "vldrb.8 q1, [%[row1]]\n"
        "add %[row1], %[step1]\n"
        "vldrb.8 q2, [%[row2]]\n"
        "add %[row2], %[step2]\n"
        "vldrb.8 q3, [%[row3]]\n"
        "add %[row3], %[step3]\n"
        "vst40.8 {q0, q1, q2, q3}, [%[columns]]\n"
        "vst41.8 {q0, q1, q2, q3}, [%[columns]]\n"
        "vst42.8 {q0, q1, q2, q3}, [%[columns]]\n"
        "vst43.8 {q0, q1, q2, q3}, [%[columns]]\n"
        "add %[columns], %[stride]\n"
        "le lr, 1b\n"
        : [row0] "+r"(row0), [row1] "+r"(row1), [row2] "+r"(row2), [row3] "+r"(row3), [columns] "+r"(columns)
        : [count] "r"(count), [stride] "r"(stride), [step0] "r"(rows->step[0]), [step1] "r"(rows->step[1]),
          [step2] "r"(rows->step[2]), [step3] "r"(rows->step[3])
        : "lr", "q0", "q1", "q2", "q3", "memory");
}

#endif
