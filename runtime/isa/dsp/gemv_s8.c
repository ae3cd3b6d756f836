/* One int8 row times a matrix with the DSP extension: four columns at a time. */
#include "vector_product.h"

/* clang-format off */
STRIP_FUNCTION(cm_dsp_multiply_vector, PAIRED_PRELOAD, PAIRED_TURNS(MULTIPLY_PAIRED), PART_PAIRS OUTPUT_KEPT_COLUMNS);
STRIP_FUNCTION(cm_dsp_sum_vector, PAIRED_PRELOAD, PAIRED_TURNS(MULTIPLY_PAIRED), PART_PAIRS STORE_SUMS("32"));
/* clang-format on */

void cm_isa_gemv_s8(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_multiply_vector, .weight_bytes = PAIRED_BYTES, .paired = true};
    multiply_row(gemm, &loop);
}

void cm_isa_gemv_s8_general(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_sum_vector, .weight_bytes = PAIRED_BYTES, .paired = true};
    multiply_general(gemm, &loop);
}
