/* int8 matrix product with MVE for rows of 64 or 128 depths side by side: loads advance the pointers from one
   pair of rows to the next. What is before and behind the pairs of a block is in gemm_s8_deep.c. */
#include "cmrt/isa.h"
#include "deep_product.h"

/* clang-format off */
/* A chunk of rows side by side: weights are addressed from the second one of the block, and r9 is the step of
   the output. */
#define MULTIPLY_DENSE(SPARE, AT, ROW_1, NEXT_ROW, NEXT) \
    MORE " r0, q0, q2\n" \
    "vldrb.8 q1, [r5], #" ROW_1 "\n" \
    MORE " r8, q1, q2\n" \
    "vldrw.32 q3, [r1, #" AT "+16]\n" \
    MORE " r2, q0, q3\n" \
    "vldrw.32 q2, [r1, #" AT "+32]\n" \
    MORE " r10, q1, q3\n" \
    "vldrw.32 q3, [r1, #" AT "+48]\n" \
    MORE " r4, q0, q2\n" \
    SPARE \
    MORE " r6, q0, q3\n" \
    NEXT_ROW \
    MORE " r12, q1, q2\n" \
    "vldrw.32 q2, [r1, #" NEXT "]\n" \
    MORE " lr, q1, q3\n"

#define HALF_UP_DENSE \
    JOIN_EVEN_0 \
    "vldrb.8 q3, [r3], #16\n" \
    JOIN_ODD_0 \
    ADD_BIAS("q0") \
    SCALE("q0") \
    "add r7, r9\n" \
    JOIN_EVEN_1 \
    SHIFT("q0") \
    "vldrb.8 q7, [r5], #16\n" \
    JOIN_ODD_1 \
    ADD_BIAS("q1") \
    SCALE("q1") \
    "vqmovnb.s32 q0, q0\n" \
    "vmladav.s8 r0, q3, q2\n" \
    SHIFT("q1") \
    "vmladav.s8 r8, q7, q2\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vldrw.32 q2, [r1, #-48]\n" \
    "vmladav.s8 r2, q3, q2\n" \
    "vqadd.s16 q0, q0, r11\n" \
    "vmladav.s8 r10, q7, q2\n" \
    "vldrw.32 q2, [r1, #-32]\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmladav.s8 r12, q7, q2\n" \
    "vstrb.16 q0, [r7, q1]\n" \
    "vmladav.s8 r4, q3, q2\n" \
    "vldrw.32 q2, [r1, #-16]\n" \
    "vmladav.s8 r6, q3, q2\n" \
    NEXT_ROW \
    "vmladav.s8 lr, q7, q2\n" \
    "vldrw.32 q2, [r1]\n"

#define MIDDLE(AT, NEXT) MULTIPLY_DENSE("", AT, "16", NEXT_ROW, NEXT)

/* LAST has the last two chunks, and advances r5 by AHEAD too much for what follows the last pair. */
#define DENSE_LOOP(name, MIDDLES, LAST, AHEAD) \
    product_loop name; \
    __asm(CM_ASM_FUNCTION(name) \
          "ldr r2, [sp, #20]\n" \
          "str r2, [sp]\n" \
          "adr.w r2, 2f\n" \
          "b.w cm_mve_multiply_half_up + 4\n" /* behind its own ADR */ \
          \
          ".p2align 2\n" \
          "1:\n" \
          HALF_UP_DENSE \
          "2:\n" \
          MIDDLES \
          LAST \
          "bcc.w 3f\n" \
          "le 1b\n" \
          "3:\n" \
          "ldr r1, [sp, #4]\n" \
          "sub r5, #" AHEAD "\n" \
          "b.w cm_mve_end_block_half_up\n" \
          CM_ASM_END)

DENSE_LOOP(cm_mve_multiply_64_half_up,
           MIDDLE("0", "64"),
           MULTIPLY_DENSE("", "64", "16", "vldrb.8 q0, [r3], #80\n", "128")
           MULTIPLY_DENSE("subs r11, #0x10000\n", "128", "80", "", "-64"), "64");

/* No load can advance a pointer so far. */
DENSE_LOOP(cm_mve_multiply_128_half_up,
           MIDDLE("0", "64") MIDDLE("64", "128") MIDDLE("128", "192") MIDDLE("192", "256") MIDDLE("256", "320"),
           MIDDLE("320", "384")
           MULTIPLY_DENSE("subs r11, #0x10000\n add r5, r5, #128\n", "384", "16", "add r3, r3, #128\n", "-64"),
           "128");
/* clang-format on */

void cm_isa_gemm_s8_dense_64_half_up(const struct cm_gemm *gemm)
{
    multiply_deep(gemm, cm_mve_multiply_64_half_up);
}

void cm_isa_gemm_s8_dense_128_half_up(const struct cm_gemm *gemm)
{
    multiply_deep(gemm, cm_mve_multiply_128_half_up);
}
