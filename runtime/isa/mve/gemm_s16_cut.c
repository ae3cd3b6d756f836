/* int16 matrix product with MVE of windows whose first or last rows lie in the padding, which is zero. */
#include "cut_product.h"
#include "short_product.h"

enum { WEIGHTS = COLUMNS / 2 /* bytes for each byte of a row */ };

void cm_mve_multiply_short_cut(const struct cm_cut_gemm *gemm, product_loop *loop);
__attribute__((used)) void cm_mve_start_short_cut_product(struct cut_product *cut,
                                                          const struct cm_cut_gemm *gemm);

void cm_mve_start_short_cut_product(struct cut_product *cut, const struct cm_cut_gemm *gemm)
{
    const struct cm_gemm left = without_padding(gemm);
    cm_mve_start_short_product(&cut->product, &left);
    skip_padding(cut, gemm, WEIGHTS);
}

/* clang-format off */
CUT_LOOP(cm_mve_multiply_short_cut_blocks, FINISH_AND_START, "");
PRODUCT_ENTRY(cm_mve_multiply_short_cut, cm_mve_start_short_cut_product);
/* clang-format on */

void cm_isa_gemm_s16_cut(const struct cm_cut_gemm *gemm)
{
    const struct cm_short_range *const range = gemm->product.weights;
    struct cm_cut_gemm counted = *gemm;
    counted.product.weights = range + 1;
    counted.product.columns = gemm->product.columns / (int32_t)sizeof(int16_t);
    counted.product.output.minimum = range->minimum;
    cm_mve_multiply_short_cut(&counted, cm_mve_multiply_short_cut_blocks);
    limit(&counted.product, range->maximum);
}
