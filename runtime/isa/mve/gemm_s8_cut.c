/* int8 matrix product with MVE of windows whose first or last rows lie in the padding. */
#include "cut_biases.h"
#include "deep_product.h"

void cm_mve_multiply_cut(const struct operands *operands, product_loop *loop);
__attribute__((used)) void cm_mve_start_cut_product(struct cut_product *cut, const struct operands *operands);

static inline const int8_t *add_padding(int32_t sums[COLUMNS], const int8_t *weights, int32_t chunks,
                                        int8x16_t padding)
{
    int32_t sum0 = sums[0], sum1 = sums[1], sum2 = sums[2], sum3 = sums[3];
    /* clang-format off */
    __asm("dls lr, %[chunks]\n"
          "1:\n"
          "vldrw.32 q1, [%[weights]], #64\n"
          MORE " %[sum0], %q[padding], q1\n"
          "vldrw.32 q2, [%[weights], #-48]\n"
          MORE " %[sum1], %q[padding], q2\n"
          "vldrw.32 q1, [%[weights], #-32]\n"
          MORE " %[sum2], %q[padding], q1\n"
          "vldrw.32 q2, [%[weights], #-16]\n"
          MORE " %[sum3], %q[padding], q2\n"
          "le lr, 1b\n"
          : [weights] "+r"(weights), [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2),
            [sum3] "+Te"(sum3)
          : [chunks] "r"(chunks), [padding] "w"(padding)
          : "q1", "q2", "lr", "memory");
    /* clang-format on */
    sums[0] = sum0, sums[1] = sum1, sums[2] = sum2, sums[3] = sum3;
    return weights;
}

static const struct byte_weights bytes = {COLUMNS, add_padding};

void cm_mve_start_cut_product(struct cut_product *cut, const struct operands *operands)
{
    const struct cm_gemm left = without_padding(operands->gemm);
    cm_mve_start_product(&cut->product, &left);
    skip_padding(cut, operands->gemm, bytes.bytes);
    cut->bias = operands->bias;
}

/* clang-format off */
CUT_LOOP(cm_mve_multiply_cut_blocks, RIGHT_BY(LOAD_ONE, CUT_ZERO_POINT, "r2"), LOAD_CUT_BIAS);
PRODUCT_ENTRY(cm_mve_multiply_cut, cm_mve_start_cut_product);
/* clang-format on */

void cm_isa_gemm_s8_cut(const struct cm_cut_gemm *gemm)
{
    multiply_columns(gemm, bytes, gemm->product.weights, cm_mve_multiply_cut, cm_mve_multiply_cut_blocks);
}
