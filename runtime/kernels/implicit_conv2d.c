/* Convolution of int8 as an implicit matrix product. */
#include "cmrt/args/implicit_conv2d.h"
#include "cmrt/clamp_rows.h"
#include "cmrt/implicit.h"

void cm_implicit_conv2d(const struct cm_context *context, const struct cm_call *call)
{
    cm_convolve_implicitly(context, call, cm_isa_pack_rows_s8, NULL, cm_isa_gemm_s8, CM_PACKED_ROWS);
}

/* With weights whose pairs do not suit the DSP extension. */
void cm_implicit_conv2d_apart(const struct cm_context *context, const struct cm_call *call)
{
    cm_convolve_implicitly(context, call, cm_isa_pack_rows_s8, NULL, cm_isa_gemm_s8_apart, CM_PACKED_ROWS);
}

/* With weights of int16. */
void cm_implicit_conv2d_w16(const struct cm_context *context, const struct cm_call *call)
{
    cm_convolve_implicitly(context, call, cm_isa_pack_rows_s8_w16, NULL, cm_isa_gemm_s8_w16, CM_PACKED_ROWS);
}

static void clamp(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_implicit_conv2d *op = call->arguments;
    cm_clamp_rows(context, call, &op->output, op->output_pixel, op->minimum, op->maximum);
}

/* For ranges that are not all of int8, where shortcuts saturate to it. */
void cm_implicit_conv2d_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_implicit_conv2d(context, call);
    clamp(context, call);
}

void cm_implicit_conv2d_apart_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_implicit_conv2d_apart(context, call);
    clamp(context, call);
}

void cm_implicit_conv2d_w16_clamped(const struct cm_context *context, const struct cm_call *call)
{
    cm_implicit_conv2d_w16(context, call);
    clamp(context, call);
}
