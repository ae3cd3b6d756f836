/* Convolution of int16 images as an implicit matrix product. All sizes of the arguments are bytes. */
#include "cmrt/args/implicit_conv2d.h"
#include "cmrt/implicit.h"

void cm_implicit_conv2d_s16(const struct cm_context *context, const struct cm_call *call)
{
    cm_convolve_implicitly(context, call, cm_isa_pack_rows_s16, cm_isa_gemm_s16, CM_PACKED_SHORT_ROWS);
}
