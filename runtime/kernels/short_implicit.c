/* Convolution of int16 images as an implicit matrix product. All sizes of the arguments are bytes. */
#include "cmrt/args/implicit_conv2d.h"
#include "cmrt/implicit.h"

static void pack_rows(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride, int32_t bytes)
{
    cm_isa_pack_rows_s16(gemm, at, in, stride, bytes, 0, bytes);
}

static void pack_windows(struct cm_gemm *gemm, const int8_t *in, int32_t stride, int32_t bytes,
                         int32_t row_stride)
{
    cm_isa_pack_rows_s16(gemm, 0, in, stride, bytes, row_stride, gemm->depth);
}

void cm_implicit_conv2d_s16(const struct cm_context *context, const struct cm_call *call)
{
    cm_convolve_implicitly(context, call, pack_rows, pack_windows, cm_isa_gemm_s16, CM_PACKED_SHORT_ROWS);
}
