/* 3x3 depthwise convolution with the DSP extension: one channel at a time.

   Four channels of up to four input rows are first interleaved in the workspace: there two rows of a column
   of one channel are a word of two 16-bit numbers. SMLAD multiplies two rows of a column at once. Two columns
   of outputs, and with stride 1 two rows of them, share the loads; assembly, because the weights of a
   channel, the sums and a column need all fourteen registers. */
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

/* A column of four channels: rows 0 and 1, and 2 and 3. */
struct column {
    uint32_t rows[CHANNELS][2];
};

/* Rows 2 * pair and 2 * pair + 1 of `count` columns. Columns outside the image have step 0. */
static void interleave(struct column *columns, int32_t pair, const int8_t *row0, int32_t step0,
                       const int8_t *row1, int32_t step1, int32_t count)
{
    uint32_t *out = &columns->rows[0][pair];
    for (; count > 0; --count, out += 2 * CHANNELS) {
        uint32_t bytes0 = load_bytes(row0), bytes1 = load_bytes(row1);
        row0 += step0;
        row1 += step1;
        uint32_t even0 = widen_even(bytes0), odd0 = widen_odd(bytes0);
        uint32_t even1 = widen_even(bytes1), odd1 = widen_odd(bytes1);
        out[0] = join_lower(even0, even1);
        out[2] = join_lower(odd0, odd1);
        out[4] = join_upper(even0, even1);
        out[6] = join_upper(odd0, odd1);
    }
}

/* Row 2 of `count` columns; row 3 is unused. */
static void spread(struct column *columns, const int8_t *row, int32_t step, int32_t count)
{
    for (; count > 0; --count, ++columns, row += step) {
        uint32_t bytes = load_bytes(row);
        uint32_t even = widen_even(bytes), odd = widen_odd(bytes);
        columns->rows[0][1] = even;
        columns->rows[1][1] = odd;
        columns->rows[2][1] = even >> 16;
        columns->rows[3][1] = odd >> 16;
    }
}

/* Operands of the assembly: some channels of an even number of output columns. */
struct run {
    const struct filter *filters, *filters_end;
    const uint32_t *columns, *columns_end;
    int8_t *out;
    int32_t next_row, step; /* from the first row of outputs to the second, and from a column to the next */
    int32_t zero_point;
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

#define SCALE(sum) "smmlar " sum ", " sum ", lr, " sum "\n"
#define AWAY_FROM_ZERO(sum) "add " sum ", " sum ", " sum ", asr #31\n"
#define SHIFT(sum) "smmlar " sum ", " sum ", r7, r12\n"
#define SATURATE(sum) "ssat " sum ", #8, " sum "\n"
#define LOAD_BIAS "ldr lr, [sp, #32]\n"
#define LOAD_MULTIPLIER "ldr lr, [sp, #36]\n"
#define LOAD_FACTOR "ldr r7, [sp, #40]\n" "ldr r12, [sp, #28]\n"
#define LOAD_OUT "ldr r7, [sp, #16]\n" "ldr lr, [sp, #24]\n"

/* Two columns of two rows, with stride 1. The second row is stored first: without one, next_row is 0. */
#define TWO_BY_TWO \
    LOAD_BIAS LOAD_COLUMN("0", "4") \
    START_ROWS("r8", "r9", "r0", "r3") \
    LOAD_COLUMN("32", "36") \
    START_ROWS("r10", "r11", "r0", "r3") ADD_ROWS("r8", "r9", "r1", "r4") \
    LOAD_COLUMN("64", "68") \
    ADD_ROWS("r10", "r11", "r1", "r4") ADD_ROWS("r8", "r9", "r2", "r5") \
    LOAD_MULTIPLIER LOAD_COLUMN("96", "100") \
    ADD_ROWS("r10", "r11", "r2", "r5") \
    LOAD_FACTOR \
    SCALE("r8") SCALE("r9") AWAY_FROM_ZERO("r8") SCALE("r10") AWAY_FROM_ZERO("r9") SCALE("r11") \
    AWAY_FROM_ZERO("r10") SHIFT("r8") AWAY_FROM_ZERO("r11") SHIFT("r9") SHIFT("r10") SATURATE("r8") \
    SHIFT("r11") SATURATE("r9") SATURATE("r10") \
    LOAD_OUT \
    "ldr r12, [sp, #20]\n" \
    SATURATE("r11") \
    "strb r9, [r7, r12]\n" \
    "strb r8, [r7]\n" \
    "add r7, lr\n" \
    "strb r11, [r7, r12]\n" \
    "strb r10, [r7]\n" \
    "add r7, lr\n" \
    "add r6, #64\n"

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

/* The stack frame is a struct run, whose outputs are those that come next, then bias, multiplier, factor and
   the channel's first output. */
#define RUN_FUNCTION(name, CONVOLVE) \
    void name(const struct run *run); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "sub sp, #48\n" \
          "ldm r0, {r0-r7}\n" \
          "stm sp, {r0-r7}\n" \
          "str r4, [sp, #44]\n" \
          \
          "1:\n" \
          "ldr lr, [sp]\n" \
          "ldr r6, [sp, #8]\n" \
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
          "bne.w 2b\n" \
          \
          "ldrd r0, r1, [sp, #8]\n" \
          "ldr r2, [sp, #44]\n" \
          "add r0, #8\n" \
          "add r1, #8\n" \
          "add r2, #1\n" \
          "strd r0, r1, [sp, #8]\n" \
          "str r2, [sp, #44]\n" \
          "str r2, [sp, #16]\n" \
          "ldrd r0, r1, [sp]\n" \
          "cmp r0, r1\n" \
          "bne.w 1b\n" \
          "add sp, #48\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

RUN_FUNCTION(cm_dsp_convolve_rows, TWO_BY_TWO);
RUN_FUNCTION(cm_dsp_convolve_row, TWO_APART);
/* clang-format on */

typedef void run_function(const struct run *run);

static void fill(struct column *columns, int32_t zero_point, int32_t count)
{
    for (; count > 0; --count, ++columns)
        for (int32_t i = 0; i < CHANNELS; ++i)
            columns->rows[i][0] = columns->rows[i][1] =
                join_lower((uint32_t)zero_point, (uint32_t)zero_point);
}

/* Of an odd number of columns, the last but one is computed twice. */
static void convolve_channels(const struct cm_depthwise *d, const struct filter *filters,
                              const struct column *columns, int8_t *out, int32_t count, int32_t width)
{
    run_function *convolve = d->stride_width == 1 ? cm_dsp_convolve_rows : cm_dsp_convolve_row;
    struct run run = {
        .filters = filters,
        .filters_end = filters + count,
        .columns = columns->rows[0],
        .columns_end = columns[(width & -2) * d->stride_width].rows[0],
        .out = out,
        .next_row = d->band == 2 ? d->out_rows[1] - d->out_rows[0] : 0,
        .step = d->channels,
        .zero_point = d->output.zero_point,
    };
    convolve(&run);
    if (width % 2 != 0) {
        run.columns = columns[(width - 2) * d->stride_width].rows[0];
        run.columns_end = columns[width * d->stride_width].rows[0];
        run.out = out + (width - 2) * d->channels;
        convolve(&run);
    }
}

/* Output columns [x0, x0 + width) of all channels. */
static void convolve_columns(const struct cm_depthwise *d, int32_t x0, int32_t width)
{
    struct column *columns = d->workspace;
    struct cm_columns covered = cm_covered_columns(d, 3, x0, width);
    struct column *inside = columns + covered.before;
    fill(columns, d->input_zero_point, covered.before);
    fill(inside + covered.inside, d->input_zero_point, covered.after);

    int8_t padding[CHANNELS];
    memset(padding, d->input_zero_point, sizeof padding);
    struct cm_four_rows rows = cm_find_rows(d, 0, 2 + d->band, covered.first + covered.before, padding);
    const struct filter *filters = d->weights;
    int8_t *out = d->out + d->out_rows[0] + x0 * d->channels;
    for (int32_t c = 0; c < d->channels; c += CHANNELS) {
        interleave(inside, 0, rows.at[0], rows.step[0], rows.at[1], rows.step[1], covered.inside);
        if (d->band == 2)
            interleave(inside, 1, rows.at[2], rows.step[2], rows.at[3], rows.step[3], covered.inside);
        else
            spread(inside, rows.at[2], rows.step[2], covered.inside);
        cm_advance_rows(&rows, CHANNELS);
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
