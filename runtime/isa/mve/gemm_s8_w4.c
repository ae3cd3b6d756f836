/* int8 matrix product with weights of four bits with MVE: deep products multiply them as they are, others
   unpack them. */
#include "cmrt/nibbles.h"
#include "narrow_product.h"
#include "unpack.h"

void cm_mve_multiply_narrow(const struct cm_gemm *gemm, product_loop *loop);

/* clang-format off */
/* The last three of the four chunks of a pair of rows side by side. Weights are addressed from the second. */
#define MORE_AT(SPARE, AT, NEXT_ROW, NEXT_COLUMN) \
    "vldrb.8 q1, [r5], #16\n" MORE " r0, q0, q2\n" \
    "vrshr.s8 q3, q2, #4\n" MORE " r8, q1, q2\n" \
    "vldrw.32 q2, [r1, #" AT "+16]\n" MORE " r2, q0, q3\n" \
    SPARE \
    MORE " r10, q1, q3\n" \
    "vrshr.s8 q3, q2, #4\n" MORE " r4, q0, q2\n" \
    MORE " r12, q1, q2\n" \
    NEXT_COLUMN \
    MORE " r6, q0, q3\n" \
    NEXT_ROW \
    MORE " lr, q1, q3\n"
/* Even numbers of chunks, four or more: two in each turn. */
#define LOOP_OF_EVEN(name, LOAD_ONE, ROUND) \
    ".global " #name "\n.type " #name ",%function\n.thumb_func\n" #name ":\n" \
    "adr.w r2, 15f\n" \
    "b.w 0b\n" \
    \
    ".p2align 2\n" \
    "14:\n" \
    MULTIPLY_LAST \
    "bcc.w 4f\n" \
    FINISH_AND_START(LOAD_ONE, ROUND) \
    "15:\n" \
    MULTIPLY(MORE, "subs.w r9, r9, #2\n") \
    MULTIPLY(MORE, "") \
    "beq.w 14b\n" \
    "le 15b\n"

#define LOOP_OF_FOUR(name, LOAD_ONE, ROUND) \
    ".global " #name "\n.type " #name ",%function\n.thumb_func\n" #name ":\n" \
    "adr.w r2, 15f\n" \
    "b.w 0b\n" \
    \
    ".p2align 2\n" \
    "14:\n" \
    FINISH_AND_START_AT(PART(LOAD_ONE), ROUND, "-32", "vldrw.32 q2, [r1]\n") \
    "15:\n" \
    MORE_AT("", "0", NEXT_ROW, "vldrw.32 q2, [r1, #32]\n") \
    MORE_AT("", "32", NEXT_ROW, "vldrw.32 q2, [r1, #64]\n") \
    MORE_AT("subs r11, #0x10000\n", "64", PART_THIRD, PART_FIRST) \
    "bcc.w 16f\n" \
    "le 14b\n" \
    "16:\n" \
    NEXT_PAIR

#define LOOPS(name, LOAD_ONE, ROUND) \
    LOOP_OF_EVEN(name##_even, LOAD_ONE, ROUND) \
    LOOP_OF_FOUR(name##_four, LOAD_ONE, ROUND)

product_loop cm_mve_narrow_half_up_even, cm_mve_narrow_half_up_four;
product_loop cm_mve_narrow_right_even, cm_mve_narrow_right_four;
PRODUCT_ENTRY(cm_mve_multiply_narrow, cm_mve_start_narrow_product);
DEEP_LOOP_FROM(cm_mve_narrow_half_up, FINISH_AND_START("", AS_IT_IS), "", SKIP_LOOP,
               LOOPS(cm_mve_narrow_half_up, "", AS_IT_IS));
DEEP_LOOP_FROM(cm_mve_narrow_right, FINISH_AND_START(LOAD_ONE, AWAY_FROM_ZERO), "", SKIP_LOOP,
               LOOPS(cm_mve_narrow_right, LOAD_ONE, AWAY_FROM_ZERO));
/* clang-format on */

void cm_mve_start_narrow_product(struct product *product, const struct cm_gemm *gemm)
{
    cm_mve_start_product(product, gemm);
    halve_weights(product, gemm);
}

/* Loops of any, of even numbers and of four chunks. */
struct loops {
    product_loop *any, *even, *four;
};

static void multiply(const struct cm_gemm *gemm, struct loops loops)
{
    const int32_t chunks = (gemm->depth + CHUNK - 1) / CHUNK;
    product_loop *loop = chunks == 4 ? loops.four : chunks > 4 && chunks % 2 == 0 ? loops.even : loops.any;
    struct cm_gemm headless = *gemm;
    headless.weights = (const struct cm_nibbles *)gemm->weights + 1;
    cm_mve_multiply_parts(&headless, cm_mve_multiply_narrow, loop);
}

void cm_isa_gemm_s8_w4(const struct cm_gemm *gemm)
{
    if (cm_are_unpacked(gemm))
        cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8);
    else
        multiply(gemm,
                 (struct loops){cm_mve_narrow_right, cm_mve_narrow_right_even, cm_mve_narrow_right_four});
}

void cm_isa_gemm_s8_w4_half_up(const struct cm_gemm *gemm)
{
    if (cm_are_unpacked(gemm))
        cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8_half_up);
    else
        multiply(gemm, (struct loops){cm_mve_narrow_half_up, cm_mve_narrow_half_up_even,
                                      cm_mve_narrow_half_up_four});
}

void cm_isa_gemm_s8_w4_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8_general);
}
