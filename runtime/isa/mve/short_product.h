/* Products of pairs of int16 rows with int8 weights with MVE: what their loops share. Weights are widened as
   they are loaded. Rescaling is requantize_s64 for sums that fit 32 bits: VMULH by the multiplier in the
   upper half of a word, VRSHL by the rest of the shift. */
#ifndef SHORT_PRODUCT_H
#define SHORT_PRODUCT_H

#include "cmrt/short_output.h"
#include "deep_loop.h"

#include <arm_mve.h>

/* The start of products, of which columns are counted. Called by assembly, which compilers of whole programs
   do not see. */
__attribute__((used)) void cm_mve_start_short_product(struct product *product, const struct cm_gemm *gemm);

/* clang-format off */
#define FIRST "vmladav.s16"
#define MORE "vmladava.s16"
#define FIRST_COLUMN "vldrb.s16 q2, [r1]\n"
#define NEXT_COLUMN "vldrb.s16 q2, [r1, #32]!\n"
#define LAST_ROW ""
#define LAST_COLUMN NEXT_PAIR

/* 8 depths: q0, q1 of the two rows, q2 and q3 of the columns. */
#define MULTIPLY_CHUNK(mac, SPARE, NEXT_ROW, NEXT_COLUMN) \
    mac " r0, q0, q2\n" \
    "vldrh.16 q1, [r5], #16\n" \
    mac " r8, q1, q2\n" \
    "vldrb.s16 q3, [r1, #8]\n" \
    mac " r2, q0, q3\n" \
    "vldrb.s16 q2, [r1, #16]\n" \
    mac " r10, q1, q3\n" \
    "vldrb.s16 q3, [r1, #24]\n" \
    mac " r4, q0, q2\n" \
    SPARE \
    mac " r6, q0, q3\n" \
    NEXT_ROW \
    mac " r12, q1, q2\n" \
    NEXT_COLUMN \
    mac " lr, q1, q3\n"

/* With r1 behind the first chunk. */
#define LOAD_HEAD \
    "vldrw.32 q4, [r1, #-80]\n" \
    "vldrw.32 q5, [r1, #-64]\n" \
    "vldrw.32 q6, [r1, #-48]\n"

#define SCALE(sums) "vmulh.s32 " sums ", " sums ", q5\n"

/* Products alternate with what other pipes execute. Outputs below the minimum become it. */
#define FINISH_AND_START \
    JOIN_EVEN_0 \
    "vldrb.s16 q3, [r1]\n" \
    JOIN_ODD_0 \
    LOAD_STEPS \
    JOIN_EVEN_1 \
    ADD_BIAS("q0") \
    "add r7, r2\n" \
    SCALE("q0") \
    "add r3, r0\n" \
    "add r5, r0\n" \
    JOIN_ODD_1 \
    SHIFT("q0") \
    "ldr r4, [sp, #72]\n" \
    "vldrh.16 q2, [r3], #16\n" \
    ADD_BIAS("q1") SCALE("q1") \
    "vmladav.s16 r0, q2, q3\n" \
    "vldrh.16 q7, [r5], #16\n" \
    SHIFT("q1") \
    "vmladav.s16 r8, q7, q3\n" \
    "vldrb.s16 q3, [r1, #8]\n" \
    "vmladav.s16 r2, q2, q3\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmladav.s16 r10, q7, q3\n" \
    "vldrb.s16 q3, [r1, #16]\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vmladav.s16 r12, q7, q3\n" \
    "vpt.s16 lt, q0, r4\n" \
    "vdupt.16 q0, r4\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmladav.s16 r4, q2, q3\n" \
    "vldrb.s16 q3, [r1, #24]\n" \
    "vmladav.s16 r6, q2, q3\n" \
    "vstrh.16 q0, [r7, q1]\n" \
    "vmladav.s16 lr, q7, q3\n" \
    NEXT_COLUMN \
    NEXT_ROW
/* clang-format on */

/* Outputs above the maximum become it. */
static inline void limit(const struct cm_gemm *gemm, int32_t maximum)
{
    const int16x8_t most = vdupq_n_s16((int16_t)maximum);
    for (int32_t row = 0; maximum < INT16_MAX && row < gemm->rows; ++row) {
        int16_t *const out = (int16_t *)(void *)(gemm->out + row * gemm->out_stride);
        for (int32_t i = 0; i < gemm->columns; i += 8) {
            const mve_pred16_t tail = vctp16q((uint32_t)(gemm->columns - i));
            vst1q_p_s16(out + i, vminq_s16(vld1q_z_s16(out + i, tail), most), tail);
        }
    }
}

#endif
