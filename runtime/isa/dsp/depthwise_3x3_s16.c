/* 3x3 depthwise convolution of int16 images with the DSP extension: the loops of int8 with another end, which
   is requantize_s64 as in gemm_s16.c. */
#include "cmrt/short_output.h"
#include "cortex_m7.h"
#include "depthwise_orders.h"

typedef int16_t element;
#define INTERLEAVE cm_dsp_interleave_s16
#include "depthwise_bands.h"

INTERLEAVE_FUNCTION(cm_dsp_interleave_s16, INTERLEAVE_SHORTS, "8");

/* clang-format off */
#define SCALE_SHORT(sum) "smulwb " sum ", " sum ", lr\n"
#define SHIFT_SHORT(sum) "smmulr " sum ", " sum ", r7\n"
#define SATURATE_SHORT(sum) "ssat " sum ", #16, " sum "\n"
#define RECTIFY_SHORT(sum) "usat " sum ", #15, " sum "\n"
#define LOAD_SHORT_FACTOR "ldr r7, [sp, #40]\n"

#define RESCALE_FOUR_SHORT(SATURATE) \
    LOAD_SHORT_FACTOR \
    SCALE_SHORT("r8") SCALE_SHORT("r9") SCALE_SHORT("r10") SCALE_SHORT("r11") \
    SHIFT_SHORT("r8") SHIFT_SHORT("r9") SHIFT_SHORT("r10") SHIFT_SHORT("r11") \
    SATURATE("r8") SATURATE("r9") SATURATE("r10")

#define OUTPUT_FOUR_SHORT(SATURATE) \
    RESCALE_FOUR_SHORT(SATURATE) \
    "ldr r12, [sp, #44]\n" \
    "ldr r7, [sp, #24]\n" \
    "ldr lr, [sp, #8]\n" \
    "add r12, r7\n" \
    SATURATE("r11") \
    "strh r9, [r12]\n" \
    "strh r11, [r12, lr]\n" \
    "strh r8, [r7]\n" \
    "strh r10, [r7, lr]\n" \
    "add r7, r7, lr, lsl #1\n"

/* Of a last column alone, as OUTPUT_ONE. */
#define OUTPUT_ONE_SHORT(SATURATE) \
    SCALE_SHORT("r8") SCALE_SHORT("r9") \
    "smmulr r8, r8, r10\n" \
    "smmulr r9, r9, r10\n" \
    "ldr lr, [sp, #8]\n" \
    "add.w r12, r12, r7\n" \
    SATURATE("r8") SATURATE("r9") \
    "strh r9, [r12]\n" \
    "strh r8, [r7]\n"

#define OUTPUT_TWO_SHORT(SATURATE) \
    LOAD_SHORT_FACTOR \
    SCALE_SHORT("r8") SCALE_SHORT("r10") SHIFT_SHORT("r8") SHIFT_SHORT("r10") \
    "ldr r7, [sp, #24]\n" \
    "ldr lr, [sp, #8]\n" \
    SATURATE("r8") SATURATE("r10") \
    "strh r8, [r7]\n" \
    "strh r10, [r7, lr]\n" \
    "add r7, r7, lr, lsl #1\n"

#if IS_CORTEX_M7
#define SCALE_SHORT_BY(sum, multiplier) "smulwb " sum ", " sum ", " multiplier "\n"
#define SHIFT_SHORT_BY(sum, factor, zero_point) "smmulr " sum ", " sum ", " factor "\n"
#define TWO_COLUMNS(FINISH) TWO_BY_TWO_IN_PAIRS(SCALE_SHORT_BY, EITHER_WAY, SHIFT_SHORT_BY, FINISH, "strh.w")
#define LAST_COLUMN(FINISH) ONE_BY_TWO_IN_PAIRS(SCALE_SHORT_BY, EITHER_WAY, SHIFT_SHORT_BY, FINISH, "strh.w")
#else
#define TWO_COLUMNS(FINISH) TWO_BY_TWO(OUTPUT_FOUR_SHORT(FINISH)) END_COLUMNS
#define LAST_COLUMN(FINISH) ONE_BY_TWO(OUTPUT_ONE_SHORT(FINISH))
#endif
#define SHORT_BAND_FUNCTION(name, FINISH) BAND_FUNCTION(name, TWO_COLUMNS(FINISH), LAST_COLUMN(FINISH))

SHORT_BAND_FUNCTION(cm_dsp_convolve_short_rows, SATURATE_SHORT);
ALONE_FUNCTION(cm_dsp_convolve_short_row, RESCALE_FOUR_SHORT(SATURATE_SHORT), STORE_FOUR(SATURATE_SHORT, "strh"),
               OUTPUT_TWO_SHORT(SATURATE_SHORT));
RUN_FUNCTION(cm_dsp_convolve_short_rows_apart, TWO_BY_TWO_APART(OUTPUT_FOUR_SHORT(SATURATE_SHORT)));
RUN_FUNCTION(cm_dsp_convolve_short_row_apart, TWO_APART(OUTPUT_TWO_SHORT(SATURATE_SHORT)));
SHORT_BAND_FUNCTION(cm_dsp_rectify_short_rows, RECTIFY_SHORT);
ALONE_FUNCTION(cm_dsp_rectify_short_row, RESCALE_FOUR_SHORT(RECTIFY_SHORT), STORE_FOUR(RECTIFY_SHORT, "strh"),
               OUTPUT_TWO_SHORT(RECTIFY_SHORT));
RUN_FUNCTION(cm_dsp_rectify_short_rows_apart, TWO_BY_TWO_APART(OUTPUT_FOUR_SHORT(RECTIFY_SHORT)));
RUN_FUNCTION(cm_dsp_rectify_short_row_apart, TWO_APART(OUTPUT_TWO_SHORT(RECTIFY_SHORT)));
/* clang-format on */

/* Outputs within other bounds than those that the loops saturate to. */
static void clamp(const struct cm_depthwise *d, const struct cm_short_range *range)
{
    const int32_t count = d->out_width * d->channels / (int32_t)sizeof(element);
    for (int32_t r = 0; r < d->band; ++r) {
        element *out = (element *)(void *)(d->out + d->out_rows[r]);
        for (int32_t i = 0; i < count; ++i)
            out[i] = (element)cm_clamp(out[i], range->minimum, range->maximum);
    }
}

/* lowest: where the loops saturate. */
static void convolve_shorts(const struct cm_depthwise *d, const struct loops *loops, int32_t lowest)
{
    const struct cm_short_range *range = d->weights;
    struct cm_depthwise banded = *d;
    banded.weights = range + 1;
    convolve(&banded, loops);
    if (range->minimum != lowest || range->maximum != INT16_MAX)
        clamp(d, range);
}

void cm_isa_depthwise_3x3_s16(const struct cm_depthwise *d)
{
    static const struct loops loops = {cm_dsp_convolve_short_rows, cm_dsp_convolve_short_row, .pairs = 2,
                                       .is_odd = true};
    convolve_shorts(d, &loops, INT16_MIN);
}

void cm_isa_depthwise_3x3_s16_rectified(const struct cm_depthwise *d)
{
    static const struct loops loops = {cm_dsp_rectify_short_rows, cm_dsp_rectify_short_row, .pairs = 2,
                                       .is_odd = true};
    convolve_shorts(d, &loops, 0);
}

void cm_isa_depthwise_3x3_s16_stride_2(const struct cm_depthwise *d)
{
    static const struct loops loops = {cm_dsp_convolve_short_rows_apart, cm_dsp_convolve_short_row_apart,
                                       .pairs = 3};
    convolve_shorts(d, &loops, INT16_MIN);
}

void cm_isa_depthwise_3x3_s16_stride_2_rectified(const struct cm_depthwise *d)
{
    static const struct loops loops = {cm_dsp_rectify_short_rows_apart, cm_dsp_rectify_short_row_apart,
                                       .pairs = 3};
    convolve_shorts(d, &loops, 0);
}
