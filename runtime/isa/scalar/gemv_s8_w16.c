/* Without the DSP extension, wider weights save nothing: they are those of int8. */
#include "cmrt/isa.h"

void cm_isa_gemv_s8_w16(const struct cm_gemm *gemm)
{
    cm_isa_gemv_s8(gemm);
}

void cm_isa_gemv_s8_w16_general(const struct cm_gemm *gemm)
{
    cm_isa_gemv_s8_general(gemm);
}
