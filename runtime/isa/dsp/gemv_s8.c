/* One int8 row times a matrix with the DSP extension: four columns at a time. */
#include "vector_product.h"

/* clang-format off */
STRIP_FUNCTION(cm_dsp_multiply_vector, "", TURN_OF_FOUR(MULTIPLY_NARROW), OUTPUT_COLUMNS);
STRIP_FUNCTION(cm_dsp_sum_vector, "", TURN_OF_FOUR(MULTIPLY_NARROW), STORE_SUMS("32"));
/* clang-format on */

void cm_isa_gemv_s8(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_multiply_vector, .weight_bytes = 1, .code = NARROW_CODE};
    multiply_row(gemm, &loop);
}

void cm_isa_gemv_s8_general(const struct cm_gemm *gemm)
{
    static const struct loop loop = {cm_dsp_sum_vector, .weight_bytes = 1, .code = NARROW_CODE};
    multiply_general(gemm, &loop);
}
