/* 3x3 depthwise convolution with the DSP extension: one channel at a time.

   Four channels of the input are first interleaved in the workspace: there two rows of a column of one
   channel are a word of two 16-bit numbers. SMLAD multiplies two rows of a column at once. Two columns and
   two rows of outputs share the loads; assembly, because the weights of a channel, the sums and a column need
   all fourteen registers. */
#include "cmrt/assembly.h"
#include "cmrt/taps.h"
#include "interleave.h"
#include "simd.h"

#include <string.h>

/* A band is two rows of outputs, or one where the strides differ; bands at once: depthwise_schemes.py. */
enum { CHANNELS = 4, MOST_BANDS = 4, MOST_PAIRS = 3 };

/* Weights of rows 0 and 1, and 1 and 2, of the three columns; for the rescaling see gemm_s8.c. */
struct filter {
    int32_t upper[3], lower[3];
    int32_t bias, multiplier, factor;
};

/* An even number of output columns of a band, all differences from what comes before. */
struct segment {
    int32_t columns, out; /* bytes from the columns and outputs that would come next */
    int32_t length;       /* bytes of columns */
    int32_t next_row;     /* from the first row of outputs to the second, 0 without one */
};

/* Operands of the assembly. */
struct run {
    const struct filter *filters, *filters_end;
    int32_t step; /* from an output column to the next */
    int32_t zero_point;
    const struct segment *segments, *segments_end; /* of each channel */
    uint32_t columns, out;                         /* what the channel before would leave */
};

/* clang-format off */
#define LOAD_COLUMN(top, bottom) \
    "ldr r12, [r6, #" bottom "]\n" \
    "ldr r7, [r6, #" top "]\n"

/* Two columns and the bias at once, as the last two sums have not begun. */
#define LOAD_FIRST_COLUMNS \
    "ldr lr, [sp, #32]\n" \
    "ldr r11, [r6, #16]\n" \
    "ldr r10, [r6]\n" \
    LOAD_COLUMN("32", "48")

/* A column's products in the sums of two rows of outputs. */
#define START_ROWS(sum0, sum1, top, bottom, upper, lower) \
    "smlad " sum1 ", " bottom ", " lower ", lr\n" \
    "smlad " sum0 ", " top ", " upper ", lr\n" \
    "smlatb " sum1 ", " top ", " upper ", " sum1 "\n" \
    "smlabt " sum0 ", " bottom ", " lower ", " sum0 "\n"

#define ADD_ROWS(sum0, sum1, upper, lower) \
    "smlad " sum1 ", r12, " lower ", " sum1 "\n" \
    "smlad " sum0 ", r7, " upper ", " sum0 "\n" \
    "smlatb " sum1 ", r7, " upper ", " sum1 "\n" \
    "smlabt " sum0 ", r12, " lower ", " sum0 "\n"

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

/* The same for one row; the bias is in lr. */
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
#define LOAD_MULTIPLIER "ldr lr, [sp, #36]\n"
#define LOAD_FACTOR "ldr r7, [sp, #40]\n" "ldr r12, [sp, #12]\n"

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
    "ldr r12, [sp, #44]\n" \
    "ldr r7, [sp, #24]\n" \
    "ldr lr, [sp, #8]\n" \
    "add r12, r7\n" \
    SATURATE("r11") \
    "strb r9, [r12]\n" \
    "strb r11, [r12, lr]\n" \
    "strb r8, [r7]\n" \
    "strb r10, [r7, lr]\n" \
    "add r7, r7, lr, lsl #1\n"

/* With stride 1. */
#define TWO_BY_TWO(RESCALE) \
    LOAD_FIRST_COLUMNS \
    START_ROWS("r8", "r9", "r10", "r11", "r0", "r3") \
    START_ROWS("r10", "r11", "r7", "r12", "r0", "r3") ADD_ROWS("r8", "r9", "r1", "r4") \
    LOAD_COLUMN("64", "80") \
    ADD_ROWS("r10", "r11", "r1", "r4") ADD_ROWS("r8", "r9", "r2", "r5") \
    LOAD_MULTIPLIER LOAD_COLUMN("96", "112") \
    ADD_ROWS("r10", "r11", "r2", "r5") \
    OUTPUT_FOUR(RESCALE) \
    "add r6, #64\n"

/* With stride 2. */
#define TWO_BY_TWO_APART \
    "ldr r11, [sp, #32]\n" \
    LOAD_LONG_COLUMN("0", "16", "32") \
    START_ROWS_APART("r8", "r9", "r0", "r3") \
    LOAD_LONG_COLUMN("48", "64", "80") \
    ADD_ROWS_APART("r8", "r9", "r1", "r4") \
    LOAD_LONG_COLUMN("96", "112", "128") \
    START_ROWS_APART("r10", "r11", "r0", "r3") ADD_ROWS_APART("r8", "r9", "r2", "r5") \
    LOAD_LONG_COLUMN("144", "160", "176") \
    ADD_ROWS_APART("r10", "r11", "r1", "r4") \
    LOAD_LONG_COLUMN("192", "208", "224") \
    ADD_ROWS_APART("r10", "r11", "r2", "r5") \
    LOAD_MULTIPLIER \
    OUTPUT_FOUR(RESCALE_RIGHT) \
    "add r6, #192\n"

/* With stride 2, a single row. */
#define TWO_APART \
    "ldr lr, [sp, #32]\n" LOAD_COLUMN("0", "16") \
    START_ROW("r8", "r0", "r3") \
    LOAD_COLUMN("32", "48") \
    ADD_ROW("r8", "r1", "r4") \
    LOAD_COLUMN("64", "80") \
    START_ROW("r10", "r0", "r3") ADD_ROW("r8", "r2", "r5") \
    LOAD_COLUMN("96", "112") \
    ADD_ROW("r10", "r1", "r4") \
    LOAD_MULTIPLIER LOAD_COLUMN("128", "144") \
    ADD_ROW("r10", "r2", "r5") \
    LOAD_FACTOR \
    SCALE("r8") SCALE("r10") AWAY_FROM_ZERO("r8") AWAY_FROM_ZERO("r10") SHIFT("r8") SHIFT("r10") \
    "ldr r7, [sp, #24]\n" \
    "ldr lr, [sp, #8]\n" \
    SATURATE("r8") SATURATE("r10") \
    "strb r8, [r7]\n" \
    "strb r10, [r7, lr]\n" \
    "add r7, r7, lr, lsl #1\n" \
    "add r6, #128\n"

/* The stack frame is a struct run up to its segments; then the outputs that come next, the end of the segment's
   columns, bias, multiplier, factor, next_row, and the segment that comes next. */
#define RUN_FUNCTION(name, CONVOLVE) \
    void name(const struct run *run); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "sub sp, #56\n" \
          "ldm r0, {r0-r7}\n" \
          "stm sp, {r0-r5}\n" \
          "mov lr, r0\n" \
          "1:\n" \
          "ldm lr!, {r0-r5}\n" \
          "ldm lr!, {r8-r10}\n" \
          "str lr, [sp]\n" \
          "str r8, [sp, #32]\n" \
          "str r9, [sp, #36]\n" \
          "str r10, [sp, #40]\n" \
          "ldr lr, [sp, #16]\n" \
          "2:\n" \
          "ldm lr!, {r8-r11}\n" \
          "str lr, [sp, #48]\n" \
          "add r6, r8\n" \
          "add r7, r9\n" \
          "add r10, r6\n" \
          "str r7, [sp, #24]\n" \
          "str r10, [sp, #28]\n" \
          "str r11, [sp, #44]\n" \
          \
          ".p2align 2\n" \
          "3:\n" \
          CONVOLVE \
          "ldr r12, [sp, #28]\n" \
          "str r7, [sp, #24]\n" \
          "cmp r6, r12\n" \
          "blo.w 3b\n" \
          "ldr lr, [sp, #48]\n" \
          "ldr r8, [sp, #20]\n" \
          "cmp lr, r8\n" \
          "bne.w 2b\n" \
          "ldr lr, [sp]\n" \
          "ldr r8, [sp, #4]\n" \
          "cmp lr, r8\n" \
          "bne.w 1b\n" \
          "add sp, #56\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

RUN_FUNCTION(cm_dsp_convolve_rows, TWO_BY_TWO(RESCALE_RIGHT));
RUN_FUNCTION(cm_dsp_convolve_rows_half_up, TWO_BY_TWO(RESCALE_HALF_UP));
RUN_FUNCTION(cm_dsp_convolve_rows_apart, TWO_BY_TWO_APART);
RUN_FUNCTION(cm_dsp_convolve_row_apart, TWO_APART);
/* clang-format on */

typedef void run_function(const struct run *run);

static run_function *choose(const struct cm_depthwise *d)
{
    if (d->stride_width == 2)
        return d->band > 1 ? cm_dsp_convolve_rows_apart : cm_dsp_convolve_row_apart;
    return d->output.rounding == CM_ROUND_HALF_UP ? cm_dsp_convolve_rows_half_up : cm_dsp_convolve_rows;
}

/* What is computed at once: output columns [x0, x0 + width) of some bands. In the workspace, the columns of a
   band follow each other; each is `pairs` pairs of rows of four channels. */
struct part {
    int32_t x0, width, first_row, rows, bands;
    int32_t pairs, pitch; /* words from a column to the next */
    int32_t band_words;
    struct cm_columns covered;
    int8_t padding[CHANNELS];
};

static int32_t band_rows(const struct cm_depthwise *d)
{
    return d->stride_width == d->stride_height ? 2 : 1;
}

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static void fill(const struct part *part, uint32_t *out, int32_t columns)
{
    uint32_t pair;
    memcpy(&pair, part->padding, sizeof pair);
    pair = widen_even(pair);
    for (uint32_t *end = out + columns * part->pitch; out < end; ++out)
        *out = pair;
}

static void find_row(const struct cm_depthwise *d, const struct part *part, int32_t index,
                     struct cm_row_pair *pair, int32_t place)
{
    int32_t last = (part->first_row + part->rows - 1) * d->stride_height + 2;
    int32_t row = index > last ? CM_NO_ROW : d->input_rows[index];
    const struct cm_columns *covered = &part->covered;
    int32_t inside = row != CM_NO_ROW;
    pair->at[place] =
        inside ? d->input + row + (covered->first + covered->before) * d->channels : part->padding;
    pair->step[place] = inside ? d->channels : 0;
}

/* Pads the bands, and finds their pairs of rows. A pair that is the last of a band and the first of the next
   one is interleaved once. */
static int32_t find_pairs(const struct cm_depthwise *d, const struct part *part, struct cm_row_pair *pairs)
{
    const struct cm_columns *covered = &part->covered;
    int32_t count = 0;
    for (int32_t b = 0; b < part->bands; ++b) {
        uint32_t *columns = (uint32_t *)d->workspace + b * part->band_words;
        uint32_t *inside = columns + covered->before * part->pitch;
        fill(part, columns, covered->before);
        fill(part, inside + covered->inside * part->pitch, covered->after);
        int32_t top = (part->first_row + b * band_rows(d)) * d->stride_height;
        for (int32_t p = 0; p < part->pairs; ++p) {
            struct cm_row_pair *pair = &pairs[count];
            find_row(d, part, top + 2 * p, pair, 0);
            find_row(d, part, top + 2 * p + 1, pair, 1);
            pair->out = inside + p * CHANNELS;
            pair->again =
                b > 0 && p == 0 ? pair->out - part->band_words + (part->pairs - 1) * CHANNELS : NULL;
            count += p < part->pairs - 1 || b == part->bands - 1;
        }
    }
    return count;
}

/* `count` output columns of a band from column `x` of the part on. */
static void add_segment(struct run *run, struct segment *segment, const struct cm_depthwise *d,
                        const struct part *part, int32_t band, int32_t x, int32_t count)
{
    const int32_t *rows = d->out_rows + part->first_row + band * band_rows(d);
    int32_t column_bytes = d->stride_width * part->pitch * (int32_t)sizeof(uint32_t);
    uint32_t columns = (uint32_t)(band * part->band_words * (int32_t)sizeof(uint32_t) + x * column_bytes);
    uint32_t out = (uint32_t)(rows[0] + (part->x0 + x) * d->channels);
    int32_t has_next = band_rows(d) == 2 && 2 * band + 1 < part->rows;
    *segment = (struct segment){
        .columns = (int32_t)(columns - run->columns),
        .out = (int32_t)(out - run->out),
        .length = count * column_bytes,
        .next_row = has_next ? rows[1] - rows[0] : 0,
    };
    run->columns = columns + (uint32_t)segment->length;
    run->out = out + (uint32_t)(count * d->channels);
}

/* Of an odd number of columns, the last but one is computed twice. */
static int32_t find_segments(const struct cm_depthwise *d, const struct part *part, struct segment *segments,
                             struct run *run)
{
    int32_t count = 0;
    for (int32_t b = 0; b < part->bands; ++b) {
        add_segment(run, &segments[count++], d, part, b, 0, part->width & -2);
        if (part->width % 2 != 0)
            add_segment(run, &segments[count++], d, part, b, part->width - 2, 2);
    }
    /* The first one follows the last one of the channel before. */
    run->columns -= (uint32_t)sizeof(uint32_t);
    run->out -= 1;
    segments->columns -= (int32_t)run->columns;
    segments->out -= (int32_t)run->out;
    return count;
}

static void convolve_part(const struct cm_depthwise *d, const struct part *part)
{
    struct cm_row_pair pairs[MOST_BANDS * (MOST_PAIRS - 1) + 1];
    struct segment segments[2 * MOST_BANDS];
    struct run run = {.step = d->channels, .zero_point = d->output.zero_point, .segments = segments};
    const struct cm_row_pair *pairs_end = pairs + find_pairs(d, part, pairs);
    run.segments_end = segments + find_segments(d, part, segments, &run);
    run.columns += (uint32_t)d->workspace;
    run.out += (uint32_t)d->out;
    run.filters = d->weights;
    run_function *convolve = choose(d);
    for (int32_t c = 0; c < d->channels; c += CHANNELS) {
        if (part->covered.inside > 0)
            cm_dsp_interleave(pairs, pairs_end, part->pitch * (int32_t)sizeof(uint32_t),
                              part->covered.inside);
        run.filters_end = run.filters + least(d->channels - c, CHANNELS);
        convolve(&run);
        run.filters += CHANNELS;
        run.out += CHANNELS;
    }
}

/* Output columns [x0, x0 + width) of all rows, as many bands at once as the workspace holds. */
static void convolve_columns(const struct cm_depthwise *d, int32_t x0, int32_t width)
{
    struct part part = {.x0 = x0, .width = width, .pairs = d->stride_width == 2 && d->band > 1 ? 3 : 2};
    part.covered = cm_covered_columns(d, 3, x0, width);
    part.pitch = part.pairs * CHANNELS;
    part.band_words = ((width - 1) * d->stride_width + 3) * part.pitch;
    memset(part.padding, d->input_zero_point, sizeof part.padding);
    int32_t rows = band_rows(d);
    int32_t most = least(width == d->out_width ? d->chunk / width : 1, MOST_BANDS) * rows;
    for (; part.first_row < d->band; part.first_row += part.rows) {
        part.rows = least(most, d->band - part.first_row);
        part.bands = (part.rows + rows - 1) / rows;
        convolve_part(d, &part);
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

void cm_isa_depthwise_3x3_s8_half_up(const struct cm_depthwise *d)
{
    cm_isa_depthwise_3x3_s8(d);
}
