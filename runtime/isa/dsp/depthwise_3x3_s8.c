/* 3x3 depthwise convolution with the DSP extension: in bands, or in rows with stride_width 2. */
#include "cortex_m7.h"
#include "depthwise_apart.h"
#include "depthwise_orders.h"

#include <stdint.h>

typedef int8_t element;
#define INTERLEAVE cm_dsp_interleave
#include "depthwise_bands.h"

INTERLEAVE_FUNCTION(cm_dsp_interleave, INTERLEAVE_BYTES, "4");

/* clang-format off */
#if IS_CORTEX_M7
#define SCALE_BY(sum, multiplier) "smmlar " sum ", " sum ", " multiplier ", " sum "\n"
#define SHIFT_BY(sum, factor, zero_point) "smmlar " sum ", " sum ", " factor ", " zero_point "\n"
#define TWO_COLUMNS(RESCALE, AWAY) TWO_BY_TWO_IN_PAIRS(SCALE_BY, AWAY, SHIFT_BY, SATURATE, "strb.w")
#define LAST_COLUMN(AWAY) ONE_BY_TWO_IN_PAIRS(SCALE_BY, AWAY, SHIFT_BY, SATURATE, "strb.w")
#define FOUR_COLUMNS(RESCALE, AWAY) FOUR_APART_IN_PAIRS(AWAY)
#else
#define TWO_COLUMNS(RESCALE, AWAY) TWO_BY_TWO(OUTPUT_FOUR(RESCALE)) END_COLUMNS
#define LAST_COLUMN(AWAY) ONE_BY_TWO(OUTPUT_ONE(AWAY))
#define FOUR_COLUMNS(RESCALE, AWAY) FOUR_OUTPUTS_APART(RESCALE)
#endif

BAND_FUNCTION(cm_dsp_convolve_rows, TWO_COLUMNS(RESCALE_RIGHT, AWAY_FROM_ZERO), LAST_COLUMN(AWAY_FROM_ZERO));
BAND_FUNCTION(cm_dsp_convolve_rows_half_up, TWO_COLUMNS(RESCALE_HALF_UP, EITHER_WAY), LAST_COLUMN(EITHER_WAY));
ALONE_FUNCTION(cm_dsp_convolve_row, LOAD_FACTOR RESCALE_RIGHT, STORE_FOUR(SATURATE, "strb"), OUTPUT_TWO);
APART_FUNCTION(cm_dsp_convolve_apart, FOUR_COLUMNS(RESCALE_RIGHT, AWAY_FROM_ZERO));
APART_FUNCTION(cm_dsp_convolve_apart_half_up, FOUR_COLUMNS(RESCALE_HALF_UP, EITHER_WAY));
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
