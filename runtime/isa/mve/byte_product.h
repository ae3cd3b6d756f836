/* int8 matrix products with MVE: what their loops share. */
#ifndef BYTE_PRODUCT_H
#define BYTE_PRODUCT_H

#include "product.h"

void cm_mve_multiply(const struct cm_gemm *gemm, product_loop *loop);

/* clang-format off */
/* 16 depths: q0, q1 of the two rows, q2 and q3 of the columns. The first row and column are loaded; the next
   chunk's are by NEXT. SPARE is a scalar instruction that costs nothing here. */
#define MULTIPLY_CHUNK(mac, SPARE, NEXT_ROW, NEXT_COLUMN) \
    mac " r0, q0, q2\n" \
    "vldrb.8 q1, [r5], #16\n" \
    mac " r8, q1, q2\n" \
    "vldrw.32 q3, [r1, #16]\n" \
    mac " r2, q0, q3\n" \
    "vldrw.32 q2, [r1, #32]\n" \
    mac " r10, q1, q3\n" \
    "vldrw.32 q3, [r1, #48]\n" \
    mac " r4, q0, q2\n" \
    SPARE \
    mac " r6, q0, q3\n" \
    NEXT_ROW \
    mac " r12, q1, q2\n" \
    NEXT_COLUMN \
    mac " lr, q1, q3\n"

#define SCALE(sums) "vqrdmulh.s32 " sums ", " sums ", q5\n"

/* x + (x >> 31) before the rounding shift takes halves away from zero: VQDMLAH by one, in r4, adds the high
   half of 2x, which is x >> 31. */
#define LOAD_ONE "mov r4, #1\n"
#define AWAY_FROM_ZERO(sums) "vqdmlah.s32 " sums ", " sums ", r4\n"
#define AS_IT_IS(sums) ""
/* clang-format on */

#endif
