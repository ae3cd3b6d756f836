/* Interleaves 16 bytes of four input rows at a time: column by column, the four elements of each channel. */
#ifndef INTERLEAVE_H
#define INTERLEAVE_H

#include "cmrt/taps.h"

#include <arm_mve.h>

/* Addresses of four input rows, and how far it is from one column to the next; those outside the image repeat
   a pixel of padding. */
struct four_rows {
    int32_t at[4], step[4];
};

/* `count` rows of the band from `first` on, each from `offset` on. */
static inline void find_rows(struct four_rows *four, const struct cm_depthwise *d, int32_t first,
                             int32_t count, int32_t offset, const int8_t *padding)
{
    const mve_pred16_t wanted = vctp32q((uint32_t)count);
    const int32x4_t rows = vldrwq_z_s32(d->input_rows + first, wanted);
    const mve_pred16_t inside = vcmpneq_m_n_s32(rows, CM_NO_ROW, wanted);
    const int32x4_t outside = vdupq_n_s32((int32_t)padding);
    vstrwq_s32(four->at, vaddq_m_n_s32(outside, rows, (int32_t)(d->input + offset), inside));
    vstrwq_s32(four->step, vdupq_m_n_s32(vdupq_n_s32(0), d->channels, inside));
}

/* Writes `count` columns of 64 bytes, `stride` bytes apart, of elements of so many bits, and goes on to the
   next 16 bytes of channels. */
/* clang-format off */
#define INTERLEAVE(name, BITS) \
static inline void name(struct four_rows *rows, int8_t *columns, int32_t stride, int32_t count) \
{ \
    int32_t row0, row1, row2, row3, step0, step1, step2, step3; \
    if (count <= 0) \
        return; \
    __asm volatile("dls lr, %[count]\n" \
                   "vldrw.32 q0, [%[rows]]\n" \
                   "ldrd %[row0], %[row1], [%[rows]]\n" \
                   "vldrw.32 q1, [%[rows], #16]\n" \
                   "vmov.i32 q2, #16\n" /* nothing outside; of fewer channels none are next */ \
                   "ldrd %[row2], %[row3], [%[rows], #8]\n" \
                   "vmin.u32 q1, q1, q2\n" \
                   "vadd.i32 q0, q0, q1\n" \
                   "ldrd %[step0], %[step1], [%[rows], #16]\n" \
                   "ldrd %[step2], %[step3], [%[rows], #24]\n" \
                   "vstrw.32 q0, [%[rows]]\n" \
                   "1:\n" \
                   "vldrb.8 q0, [%[row0]]\n" \
                   "add %[row0], %[step0]\n" \
                   "vldrb.8 q1, [%[row1]]\n" \
                   "add %[row1], %[step1]\n" \
                   "vldrb.8 q2, [%[row2]]\n" \
                   "add %[row2], %[step2]\n" \
                   "vldrb.8 q3, [%[row3]]\n" \
                   "add %[row3], %[step3]\n" \
                   "vst40." BITS " {q0, q1, q2, q3}, [%[columns]]\n" \
                   "vst41." BITS " {q0, q1, q2, q3}, [%[columns]]\n" \
                   "vst42." BITS " {q0, q1, q2, q3}, [%[columns]]\n" \
                   "vst43." BITS " {q0, q1, q2, q3}, [%[columns]]\n" \
                   "add %[columns], %[stride]\n" \
                   "le lr, 1b\n" \
                   : [row0] "=&r"(row0), [row1] "=&r"(row1), [row2] "=&r"(row2), [row3] "=&r"(row3), \
                     [step0] "=&r"(step0), [step1] "=&r"(step1), [step2] "=&r"(step2), [step3] "=&r"(step3), \
                     [columns] "+&r"(columns) \
                   : [rows] "r"(rows), [count] "r"(count), [stride] "rI"(stride) \
                   : "lr", "q0", "q1", "q2", "q3", "memory"); \
}
/* clang-format on */

#endif
