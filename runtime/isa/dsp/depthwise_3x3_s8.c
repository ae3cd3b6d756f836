/* 3x3 depthwise convolution with the DSP extension: in bands, or in rows with stride_width 2. */
#include "depthwise_apart.h"

#include <stdint.h>

typedef int8_t element;
#define INTERLEAVE cm_dsp_interleave
#include "depthwise_bands.h"

INTERLEAVE_FUNCTION(cm_dsp_interleave, INTERLEAVE_BYTES, "4");

/* clang-format off */
BAND_FUNCTION(cm_dsp_convolve_rows, OUTPUT_FOUR(RESCALE_RIGHT), OUTPUT_ONE(AWAY_FROM_ZERO));
BAND_FUNCTION(cm_dsp_convolve_rows_half_up, OUTPUT_FOUR(RESCALE_HALF_UP), OUTPUT_ONE(EITHER_WAY));
ALONE_FUNCTION(cm_dsp_convolve_row, LOAD_FACTOR RESCALE_RIGHT, STORE_FOUR(SATURATE, "strb"), OUTPUT_TWO);
APART_FUNCTION(cm_dsp_convolve_apart, RESCALE_RIGHT);
APART_FUNCTION(cm_dsp_convolve_apart_half_up, RESCALE_HALF_UP);
/* clang-format on */

void cm_isa_depthwise_3x3_s8(const struct cm_depthwise *d)
{
    static const struct loops loops = {cm_dsp_convolve_rows, cm_dsp_convolve_row, .pairs = 2, .is_odd = true};
    convolve(d, &loops);
}

void cm_isa_depthwise_3x3_s8_half_up(const struct cm_depthwise *d)
{
    static const struct loops loops = {cm_dsp_convolve_rows_half_up, cm_dsp_convolve_row, .pairs = 2,
                                       .is_odd = true};
    convolve(d, &loops);
}

void cm_isa_depthwise_3x3_s8_row(const struct cm_depthwise *d)
{
    cm_isa_depthwise_3x3_s8(d);
}

void cm_isa_depthwise_3x3_s8_row_half_up(const struct cm_depthwise *d)
{
    cm_isa_depthwise_3x3_s8_half_up(d);
}

void cm_isa_depthwise_3x3_s8_stride_2(const struct cm_depthwise *d)
{
    convolve_apart(d, cm_dsp_convolve_apart);
}

void cm_isa_depthwise_3x3_s8_stride_2_half_up(const struct cm_depthwise *d)
{
    convolve_apart(d, cm_dsp_convolve_apart_half_up);
}
