/* Windows with their padding. */
#include "padded_rows.h"

void cm_isa_gemm_s8_w4_cut(const struct cm_cut_gemm *gemm)
{
    multiply_padded(gemm, cm_isa_gemm_s8_w4);
}
