/* int8 matrix product with weights of four bits with MVE, of windows whose first or last rows lie in the
 * padding. */
#include "cmrt/nibbles.h"
#include "cut_biases.h"
#include "narrow_product.h"

void cm_mve_multiply_narrow_cut(const struct operands *operands, product_loop *loop);
__attribute__((used)) void cm_mve_start_narrow_cut_product(struct cut_product *cut,
                                                           const struct operands *operands);

static inline const int8_t *add_padding(int32_t sums[COLUMNS], const int8_t *weights, int32_t chunks,
                                        int8x16_t padding)
{
    int32_t sum0 = sums[0], sum1 = 0, sum2 = sums[2], sum3 = 0;
    /* clang-format off */
    __asm("dls lr, %[chunks]\n"
          "1:\n"
          "vldrw.32 q1, [%[weights]], #32\n"
          MORE " %[sum0], %q[padding], q1\n"
          "vrshr.s8 q2, q1, #4\n"
          MORE " %[sum1], %q[padding], q2\n"
          "vldrw.32 q1, [%[weights], #-16]\n"
          MORE " %[sum2], %q[padding], q1\n"
          "vrshr.s8 q2, q1, #4\n"
          MORE " %[sum3], %q[padding], q2\n"
          "le lr, 1b\n"
          : [weights] "+r"(weights), [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2),
            [sum3] "+Te"(sum3)
          : [chunks] "r"(chunks), [padding] "w"(padding)
          : "q1", "q2", "lr", "memory");
    /* clang-format on */
    sums[0] = sum0 - 16 * sum1, sums[1] += sum1, sums[2] = sum2 - 16 * sum3, sums[3] += sum3;
    return weights;
}

static const struct byte_weights nibbles = {COLUMNS / 2, add_padding};

void cm_mve_start_narrow_cut_product(struct cut_product *cut, const struct operands *operands)
{
    const struct cm_gemm left = without_padding(operands->gemm);
    cm_mve_start_narrow_product(&cut->product, &left);
    skip_padding(cut, operands->gemm, nibbles.bytes);
    cut->bias = operands->bias;
}

/* clang-format off */
#define FINISH_CUT \
    FINISH_AND_START_BY(PART(LOAD_ONE), AWAY_FROM_ZERO, CUT_ZERO_POINT, "r2", "0", NEXT_COLUMN)
CUT_LOOP(cm_mve_multiply_narrow_cut_blocks, FINISH_CUT, LOAD_CUT_BIAS);
PRODUCT_ENTRY(cm_mve_multiply_narrow_cut, cm_mve_start_narrow_cut_product);
/* clang-format on */

void cm_isa_gemm_s8_w4_cut(const struct cm_cut_gemm *gemm)
{
    const struct cm_nibbles *const sizes = gemm->product.weights;
    multiply_columns(gemm, nibbles, (const int8_t *)(sizes + 1), cm_mve_multiply_narrow_cut,
                     cm_mve_multiply_narrow_cut_blocks);
}
