/* int8 matrix product with MVE whose caller does not know its depths, by the choice of helium_products.py;
   and for outputs that are general. */
#include "cmrt/isa.h"
#include "deep_product.h"
#include "general_product.h"

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    const int32_t depth = gemm->depth;
    if (depth > CM_SHALLOW_DEPTH)
        cm_isa_gemm_s8_deep(gemm);
    else if (depth <= 16 && gemm->lhs_stride == 16)
        cm_isa_gemm_s8_shallow_dense(gemm);
    else
        cm_isa_gemm_s8_shallow(gemm);
}

void cm_isa_gemm_s8_half_up(const struct cm_gemm *gemm)
{
    const int32_t depth = gemm->depth, stride = gemm->lhs_stride;
    if (depth > CM_SHALLOW_DEPTH) {
        if (stride == 64 && depth > stride - CHUNK && depth <= stride)
            cm_isa_gemm_s8_dense_64_half_up(gemm);
        else
            cm_isa_gemm_s8_deep_half_up(gemm);
    } else if (depth > 16 ? stride == 32 : stride == 16 || stride == 8) {
        cm_isa_gemm_s8_shallow_dense_half_up(gemm);
    } else {
        cm_isa_gemm_s8_shallow_half_up(gemm);
    }
}

void cm_isa_gemm_s8_general(const struct cm_gemm *gemm)
{
    multiply_deep(gemm, cm_mve_multiply_general);
}
