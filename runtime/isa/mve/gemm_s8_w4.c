/* int8 matrix product with weights of four bits with MVE: deep products multiply them as they are, others
   unpack them. */
#include "cmrt/nibbles.h"
#include "narrow_product.h"
#include "unpack.h"

void cm_mve_multiply_narrow(const struct cm_gemm *gemm, product_loop *loop);

/* clang-format off */
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

/* Where loops of gemm_s8_w4_fixed.c leave a block. */
#define END_OF_BLOCK(name) \
    ".global " #name "\n.type " #name ",%function\n.thumb_func\n" #name ":\n"

#define LOOPS(name, LOAD_ONE, ROUND) \
    LOOP_OF_EVEN(name##_even, LOAD_ONE, ROUND) \
    END_OF_BLOCK(name##_end)

product_loop cm_mve_narrow_half_up_even, cm_mve_narrow_right_even;
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

void cm_mve_multiply_narrow_parts(const struct cm_gemm *gemm, product_loop *loop)
{
    struct cm_gemm headless = *gemm;
    headless.weights = (const struct cm_nibbles *)gemm->weights + 1;
    cm_mve_multiply_parts(&headless, cm_mve_multiply_narrow, loop);
}

static void multiply(const struct cm_gemm *gemm, product_loop *any, product_loop *even)
{
    const int32_t chunks = (gemm->depth + CHUNK - 1) / CHUNK;
    cm_mve_multiply_narrow_parts(gemm, chunks >= 4 && chunks % 2 == 0 ? even : any);
}

void cm_isa_gemm_s8_w4(const struct cm_gemm *gemm)
{
    if (cm_are_unpacked(gemm))
        cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8);
    else
        multiply(gemm, cm_mve_narrow_right, cm_mve_narrow_right_even);
}

void cm_isa_gemm_s8_w4_half_up(const struct cm_gemm *gemm)
{
    if (cm_are_unpacked(gemm))
        cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8_half_up);
    else
        multiply(gemm, cm_mve_narrow_half_up, cm_mve_narrow_half_up_even);
}

void cm_isa_gemm_s8_w4_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8_general);
}
