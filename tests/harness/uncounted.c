/* Microkernels of which nothing is counted; see counting.c. */
#include "cmrt/copy.h"
#include "cmrt/elementwise.h"
#include "cmrt/isa.h"
#include "cmrt/narrow_taps.h"

void cm_isa_pack_rows_s8(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride, int32_t bytes)
{
    (void)gemm, (void)at, (void)in, (void)stride, (void)bytes;
}

void cm_isa_pack_rows_s8_w16(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride,
                             int32_t bytes)
{
    (void)gemm, (void)at, (void)in, (void)stride, (void)bytes;
}

void cm_isa_pack_rows_s16(struct cm_gemm *gemm, int32_t at, const int8_t *in, int32_t stride, int32_t bytes,
                          int32_t row_stride, int32_t depth)
{
    (void)gemm, (void)at, (void)in, (void)stride, (void)bytes, (void)row_stride, (void)depth;
}

void cm_isa_unpack_taps(const struct cm_narrow_taps *taps, uint32_t *out)
{
    (void)taps, (void)out;
}

void cm_isa_copy_blocks_s8(int8_t *out, int32_t out_stride, const int8_t *in, int32_t in_stride,
                           int32_t bytes, int32_t count)
{
    (void)out, (void)out_stride, (void)in, (void)in_stride, (void)bytes, (void)count;
}

/* Channels that are computed once more are not counted. */
void cm_isa_depthwise_channels_s8(const struct cm_depthwise *d)
{
    (void)d;
}

/* Operands of operators that are counted. */
void cm_isa_repeat_bytes(int8_t *out, const int8_t *in, int32_t times, int32_t count)
{
    (void)out, (void)in, (void)times, (void)count;
}

/* What it clamps is counted by the product before. */
void cm_isa_clamp_s8(int8_t *x, int32_t count, int32_t minimum, int32_t maximum)
{
    (void)x, (void)count, (void)minimum, (void)maximum;
}
