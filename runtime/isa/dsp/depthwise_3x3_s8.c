/* 3x3 depthwise convolution with the DSP extension: one channel at a time.

   Four channels of up to five input rows are first interleaved in the workspace: there two rows of a column
   of one channel are a word of two 16-bit numbers. SMLAD multiplies two rows of a column at once. Two columns
   and two rows of outputs share the loads; assembly, because the weights of a channel, the sums and a column
   need all fourteen registers. */
#include "cmrt/assembly.h"
#include "cmrt/taps.h"
#include "simd.h"

#include <arm_acle.h>
#include <string.h>

enum { CHANNELS = 4 };

/* Weights of rows 0 and 1, and 1 and 2, of the three columns; for the rescaling see gemm_s8.c. */
struct filter {
    int32_t upper[3], lower[3];
    int32_t bias, multiplier, factor;
};

/* The interleaved columns in the workspace: of each column, `pairs` words for each of four channels. */
struct columns {
    uint32_t *at;
    int32_t pairs;
};

static inline uint32_t *column_at(struct columns columns, int32_t index)
{
    return columns.at + index * CHANNELS * columns.pairs;
}

/* A word of each of four channels. */
static inline void store_channels(uint32_t *out, int32_t pairs, uint32_t word0, uint32_t word1,
                                  uint32_t word2, uint32_t word3)
{
    out[0] = word0;
    out[pairs] = word1;
    out[2 * pairs] = word2;
    out[3 * pairs] = word3;
}

/* A pair of rows of `count` columns. Columns outside the image have step 0. */
static inline void interleave(uint32_t *out, int32_t pairs, const int8_t *row0, int32_t step0,
                              const int8_t *row1, int32_t step1, int32_t count)
{
    for (; count > 0; --count, out += CHANNELS * pairs) {
        uint32_t bytes0 = load_bytes(row0), bytes1 = load_bytes(row1);
        row0 += step0;
        row1 += step1;
        uint32_t even0 = widen_even(bytes0), odd0 = widen_odd(bytes0);
        uint32_t even1 = widen_even(bytes1), odd1 = widen_odd(bytes1);
        store_channels(out, pairs, join_lower(even0, even1), join_lower(odd0, odd1), join_upper(even0, even1),
                       join_upper(odd0, odd1));
    }
}

/* A row without another one. */
static inline void spread(uint32_t *out, int32_t pairs, const int8_t *row, int32_t step, int32_t count)
{
    for (; count > 0; --count, out += CHANNELS * pairs, row += step) {
        uint32_t bytes = load_bytes(row);
        uint32_t even = widen_even(bytes), odd = widen_odd(bytes);
        store_channels(out, pairs, even, odd, even >> 16, odd >> 16);
    }
}

/* The first four input rows, and the fifth. */
struct input {
    struct cm_four_rows rows, last;
    int32_t count;
};

/* All rows of `count` columns. */
static inline void interleave_rows(uint32_t *out, int32_t pairs, const struct input *input, int32_t count)
{
    const struct cm_four_rows *rows = &input->rows, *last = &input->last;
    interleave(out, pairs, rows->at[0], rows->step[0], rows->at[1], rows->step[1], count);
    if (input->count == 3) {
        spread(out + 1, pairs, rows->at[2], rows->step[2], count);
        return;
    }
    interleave(out + 1, pairs, rows->at[2], rows->step[2], rows->at[3], rows->step[3], count);
    if (pairs == 3)
        spread(out + 2, pairs, last->at[0], last->step[0], count);
}

/* Operands of the assembly: some channels of an even number of output columns. */
struct run {
    const struct filter *filters, *filters_end;
    const uint32_t *columns, *columns_end;
    int8_t *out;
    int32_t next_row, step; /* from the first row of outputs to the second, and from a column to the next */
    int32_t zero_point;
    int32_t back; /* bytes from the columns' end to the last columns, if these overlap the ones before */
};

/* clang-format off */
#define LOAD_COLUMN(top, bottom) \
    "ldr r12, [r6, #" bottom "]\n" \
    "ldr r7, [r6, #" top "]\n"

/* A column's products in the sums of two rows of outputs. */
#define START_ROWS(sum0, sum1, upper, lower) \
    "smlad " sum1 ", r12, " lower ", lr\n" \
    "smlad " sum0 ", r7, " upper ", lr\n" \
    "smlatb " sum1 ", r7, " upper ", " sum1 "\n" \
    "smlabt " sum0 ", r12, " lower ", " sum0 "\n"

#define ADD_ROWS(sum0, sum1, upper, lower) \
    "smlad " sum1 ", r12, " lower ", " sum1 "\n" \
    "smlad " sum0 ", r7, " upper ", " sum0 "\n" \
    "smlatb " sum1 ", r7, " upper ", " sum1 "\n" \
    "smlabt " sum0 ", r12, " lower ", " sum0 "\n"

/* The same for one row. */
#define START_ROW(sum, upper, lower) \
    "smlabt " sum ", r12, " lower ", lr\n" \
    "smlad " sum ", r7, " upper ", " sum "\n"

#define ADD_ROW(sum, upper, lower) \
    "smlabt " sum ", r12, " lower ", " sum "\n" \
    "smlad " sum ", r7, " upper ", " sum "\n"

/* A column with stride 2, whose last row is in lr, and its products; the bias is in r11, which is the last sum
   to begin. */
#define LOAD_LONG_COLUMN(top, middle, bottom) \
    "ldr r7, [r6, #" top "]\n" \
    "ldr r12, [r6, #" middle "]\n" \
    "ldr lr, [r6, #" bottom "]\n"

#define START_ROWS_APART(sum0, sum1, upper, lower) \
    "smlad " sum0 ", r7, " upper ", r11\n" \
    "smlad " sum1 ", r12, " upper ", r11\n" \
    "smlabt " sum0 ", r12, " lower ", " sum0 "\n" \
    "smlabt " sum1 ", lr, " lower ", " sum1 "\n"

#define ADD_ROWS_APART(sum0, sum1, upper, lower) \
    "smlad " sum0 ", r7, " upper ", " sum0 "\n" \
    "smlad " sum1 ", r12, " upper ", " sum1 "\n" \
    "smlabt " sum0 ", r12, " lower ", " sum0 "\n" \
    "smlabt " sum1 ", lr, " lower ", " sum1 "\n"

#define SCALE(sum) "smmlar " sum ", " sum ", lr, " sum "\n"
#define AWAY_FROM_ZERO(sum) "add " sum ", " sum ", " sum ", asr #31\n"
#define SHIFT(sum) "smmlar " sum ", " sum ", r7, r12\n"
#define SATURATE(sum) "ssat " sum ", #8, " sum "\n"
#define LOAD_BIAS "ldr lr, [sp, #32]\n"
#define LOAD_MULTIPLIER "ldr lr, [sp, #36]\n"
#define LOAD_FACTOR "ldr r7, [sp, #40]\n" "ldr r12, [sp, #28]\n"
#define LOAD_OUT "ldr r7, [sp, #16]\n" "ldr lr, [sp, #24]\n"

/* Rescales two columns of two rows, for clamping all negative results to the zero point, or for any. */
#define RESCALE_HALF_UP \
    SCALE("r8") SCALE("r9") SCALE("r10") SHIFT("r8") SCALE("r11") SHIFT("r9") SHIFT("r10") SATURATE("r8") \
    SHIFT("r11") SATURATE("r9") SATURATE("r10")
#define RESCALE_RIGHT \
    SCALE("r8") SCALE("r9") AWAY_FROM_ZERO("r8") SCALE("r10") AWAY_FROM_ZERO("r9") SCALE("r11") \
    AWAY_FROM_ZERO("r10") SHIFT("r8") AWAY_FROM_ZERO("r11") SHIFT("r9") SHIFT("r10") SATURATE("r8") \
    SHIFT("r11") SATURATE("r9") SATURATE("r10")

/* Stores them. The second row is stored first: without one, next_row is 0. */
#define OUTPUT_FOUR(RESCALE) \
    LOAD_FACTOR \
    RESCALE \
    LOAD_OUT \
    "ldr r12, [sp, #20]\n" \
    SATURATE("r11") \
    "strb r9, [r7, r12]\n" \
    "strb r8, [r7]\n" \
    "add r7, lr\n" \
    "strb r11, [r7, r12]\n" \
    "strb r10, [r7]\n" \
    "add r7, lr\n"

/* With stride 1. */
#define TWO_BY_TWO(RESCALE) \
    LOAD_BIAS LOAD_COLUMN("0", "4") \
    START_ROWS("r8", "r9", "r0", "r3") \
    LOAD_COLUMN("32", "36") \
    START_ROWS("r10", "r11", "r0", "r3") ADD_ROWS("r8", "r9", "r1", "r4") \
    LOAD_COLUMN("64", "68") \
    ADD_ROWS("r10", "r11", "r1", "r4") ADD_ROWS("r8", "r9", "r2", "r5") \
    LOAD_MULTIPLIER LOAD_COLUMN("96", "100") \
    ADD_ROWS("r10", "r11", "r2", "r5") \
    OUTPUT_FOUR(RESCALE) \
    "add r6, #64\n"

/* With stride 2. */
#define TWO_BY_TWO_APART \
    "ldr r11, [sp, #32]\n" \
    LOAD_LONG_COLUMN("0", "4", "8") \
    START_ROWS_APART("r8", "r9", "r0", "r3") \
    LOAD_LONG_COLUMN("48", "52", "56") \
    ADD_ROWS_APART("r8", "r9", "r1", "r4") \
    LOAD_LONG_COLUMN("96", "100", "104") \
    START_ROWS_APART("r10", "r11", "r0", "r3") ADD_ROWS_APART("r8", "r9", "r2", "r5") \
    LOAD_LONG_COLUMN("144", "148", "152") \
    ADD_ROWS_APART("r10", "r11", "r1", "r4") \
    LOAD_LONG_COLUMN("192", "196", "200") \
    ADD_ROWS_APART("r10", "r11", "r2", "r5") \
    LOAD_MULTIPLIER \
    OUTPUT_FOUR(RESCALE_RIGHT) \
    "add r6, #192\n"

/* Two columns of one row, with stride 2. */
#define TWO_APART \
    LOAD_BIAS LOAD_COLUMN("0", "4") \
    START_ROW("r8", "r0", "r3") \
    LOAD_COLUMN("32", "36") \
    ADD_ROW("r8", "r1", "r4") \
    LOAD_COLUMN("64", "68") \
    START_ROW("r10", "r0", "r3") ADD_ROW("r8", "r2", "r5") \
    LOAD_COLUMN("96", "100") \
    ADD_ROW("r10", "r1", "r4") \
    LOAD_MULTIPLIER LOAD_COLUMN("128", "132") \
    ADD_ROW("r10", "r2", "r5") \
    LOAD_FACTOR \
    SCALE("r8") SCALE("r10") AWAY_FROM_ZERO("r8") AWAY_FROM_ZERO("r10") SHIFT("r8") SHIFT("r10") \
    LOAD_OUT \
    SATURATE("r8") SATURATE("r10") \
    "strb r8, [r7]\n" \
    "add r7, lr\n" \
    "strb r10, [r7]\n" \
    "add r7, lr\n" \
    "add r6, #128\n"

/* The stack frame is a struct run, with the bytes of all columns instead of the first one, and the outputs that
   come next; then bias, multiplier, factor, the channel's first output, and `back`. */
#define RUN_FUNCTION(name, channel_bytes, CONVOLVE) \
    void name(const struct run *run); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "sub sp, #56\n" \
          "ldr r8, [r0, #32]\n" \
          "ldm r0, {r0-r7}\n" \
          "stm sp, {r0-r7}\n" \
          "str r4, [sp, #44]\n" \
          \
          "mov lr, r0\n" \
          "mov r6, r2\n" \
          "str r8, [sp, #48]\n" \
          "sub r3, r2\n" \
          "add r3, r8\n" \
          "str r3, [sp, #8]\n" \
          "1:\n" \
          "ldm lr!, {r0-r5}\n" \
          "ldm lr!, {r7, r11, r12}\n" \
          "str lr, [sp]\n" \
          "str r7, [sp, #32]\n" \
          "str r11, [sp, #36]\n" \
          "str r12, [sp, #40]\n" \
          \
          ".p2align 2\n" \
          "2:\n" \
          CONVOLVE \
          "ldr r12, [sp, #12]\n" \
          "str r7, [sp, #16]\n" \
          "cmp r6, r12\n" \
          "blo.w 2b\n" \
          "ldr r8, [sp, #48]\n" \
          "bhi 3f\n" \
          "cmp r8, #0\n" \
          "beq 3f\n" \
          "ldr r9, [sp, #24]\n" \
          "sub r6, r8\n" \
          "sub r7, r9\n" \
          "str r7, [sp, #16]\n" \
          "b.w 2b\n" \
          \
          "3:\n" \
          "sub r3, r6, r8\n" \
          "ldr r0, [sp, #8]\n" \
          "ldr r2, [sp, #44]\n" \
          "ldr lr, [sp]\n" \
          "ldr r1, [sp, #4]\n" \
          "add r3, #" channel_bytes "\n" \
          "add r6, #" channel_bytes "\n" \
          "sub r6, r0\n" \
          "str r3, [sp, #12]\n" \
          "add r2, #1\n" \
          "str r2, [sp, #44]\n" \
          "str r2, [sp, #16]\n" \
          "cmp lr, r1\n" \
          "bne.w 1b\n" \
          "add sp, #56\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

RUN_FUNCTION(cm_dsp_convolve_rows, "8", TWO_BY_TWO(RESCALE_RIGHT));
RUN_FUNCTION(cm_dsp_convolve_rows_half_up, "8", TWO_BY_TWO(RESCALE_HALF_UP));
RUN_FUNCTION(cm_dsp_convolve_rows_apart, "12", TWO_BY_TWO_APART);
RUN_FUNCTION(cm_dsp_convolve_row_apart, "8", TWO_APART);
/* clang-format on */

typedef void run_function(const struct run *run);

static void fill(struct columns columns, int32_t first, int32_t zero_point, int32_t count)
{
    uint32_t both = join_lower((uint32_t)zero_point, (uint32_t)zero_point);
    const uint32_t *end = column_at(columns, first + count);
    for (uint32_t *out = column_at(columns, first); out < end; ++out)
        *out = both;
}

static run_function *choose(const struct cm_depthwise *d)
{
    if (d->stride_width == 2)
        return d->band == 2 ? cm_dsp_convolve_rows_apart : cm_dsp_convolve_row_apart;
    return d->output.rounding == CM_ROUND_HALF_UP ? cm_dsp_convolve_rows_half_up : cm_dsp_convolve_rows;
}

/* Of an odd number of columns, the last but one is computed twice. */
static void convolve_channels(const struct cm_depthwise *d, const struct filter *filters,
                              struct columns columns, int8_t *out, int32_t count, int32_t width)
{
    struct run run = {
        .filters = filters,
        .filters_end = filters + count,
        .columns = columns.at,
        .columns_end = column_at(columns, (width & -2) * d->stride_width),
        .out = out,
        .next_row = d->band == 2 ? d->out_rows[1] - d->out_rows[0] : 0,
        .step = d->channels,
        .zero_point = d->output.zero_point,
        .back = width % 2 * d->stride_width * CHANNELS * columns.pairs * (int32_t)sizeof *columns.at,
    };
    choose(d)(&run);
}

/* Output columns [x0, x0 + width) of all channels. */
static void convolve_columns(const struct cm_depthwise *d, int32_t x0, int32_t width)
{
    int32_t count = (d->band - 1) * d->stride_height + 3;
    struct columns columns = {.at = d->workspace, .pairs = (count + 1) / 2};
    struct cm_columns covered = cm_covered_columns(d, 3, x0, width);
    fill(columns, 0, d->input_zero_point, covered.before);
    fill(columns, covered.before + covered.inside, d->input_zero_point, covered.after);

    int8_t padding[CHANNELS];
    memset(padding, d->input_zero_point, sizeof padding);
    int32_t first = covered.first + covered.before;
    struct input input = {.rows = cm_find_rows(d, 0, count, first, padding), .count = count};
    if (count > 4)
        input.last = cm_find_rows(d, 4, count - 4, first, padding);
    uint32_t *inside = column_at(columns, covered.before);
    const struct filter *filters = d->weights;
    int8_t *out = d->out + d->out_rows[0] + x0 * d->channels;
    for (int32_t c = 0; c < d->channels; c += CHANNELS) {
        if (columns.pairs == 2)
            interleave_rows(inside, 2, &input, covered.inside);
        else
            interleave_rows(inside, 3, &input, covered.inside);
        cm_advance_rows(&input.rows, CHANNELS);
        if (count > 4)
            cm_advance_rows(&input.last, CHANNELS);
        int32_t channels = d->channels - c < CHANNELS ? d->channels - c : CHANNELS;
        convolve_channels(d, filters + c, columns, out + c, channels, width);
    }
}

void cm_isa_depthwise_3x3_s8(const struct cm_depthwise *d)
{
    for (int32_t x = 0, width; x < d->out_width; x += width) {
        int32_t left = d->out_width - x;
        /* At least two columns are computed at once, so the last chunk has them. */
        width = left <= d->chunk ? left : d->chunk - (left == d->chunk + 1);
        convolve_columns(d, x, width);
    }
}
