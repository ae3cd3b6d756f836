/* 3x3 depthwise convolution with MVE: one channel at a time, its pixels in the lanes.

   Sixteen channels of up to four input rows are first interleaved in the workspace, column by column: there
   the four rows of a column of one channel are a 32-bit word, and one gather loads a patch of four columns.
   With stride 1 a patch gives two by two outputs, with weights shifted by a column and by a row; with stride
   2 one.
 */
#include "cmrt/assembly.h"
#include "interleave.h"
#include "output.h"

#include <stddef.h>
#include <string.h>

enum { LANES = 16, ROWS = 4, COLUMN_BYTES = LANES * ROWS, CHANNEL_BYTES = 32, MARGIN = 16 };

/* Operands of the assembly. Packed weights are a margin of zeros, then 32 bytes per channel: a zero column,
   the three columns of the kernel, a zero column, each of three rows and a zero; then bias, multiplier, and
   as bytes the right shift, the left shift, whether there is a right shift, and a zero. */
struct patches {
    const int8_t *weights;     /* r7 */
    int8_t *out;               /* r10 */
    const int8_t *columns;     /* in the workspace */
    const int8_t *weights_end; /* of the block of channels */
    int32_t rounds;            /* of eight outputs, except the last round */
    int32_t row_shift;         /* from the weights of one row of outputs to those of the next */
    int32_t out_step;          /* r11: from one round to the next */
    int32_t next_address;      /* from the end of one channel to the start of the next */
    int32_t next_out;
    int32_t zero_point; /* r9 */
    int32_t left_shift; /* of the channel, set by the assembly */
    int32_t last;       /* valid output columns of the last round */
    uint16_t offsets[8];
    int16_t column[8]; /* of the outputs of a round */
    int16_t minimum[8], maximum[8];
};
_Static_assert(offsetof(struct patches, offsets) == 48 && offsetof(struct patches, minimum) == 80,
               "used in assembly");

/* clang-format off */
#define LOAD_STRIDE_1 \
    "ldr r2, [r12, #20]\n" \
    "add r2, r7\n" \
    "vldrw.32 q4, [r7, #4]\n" \
    "vldrw.32 q5, [r7]\n" \
    "vldrb.8 q6, [r2, #4]\n" \
    "vldrb.8 q7, [r2]\n"

#define LOAD_STRIDE_2 "vldrw.32 q4, [r7, #4]\n"

#define GATHER(patch) "vldrw.u32 " patch ", [q3, #128]!\n"
#define MULTIPLY(sum, patch, weights) "vmladav.s8 " sum ", " patch ", " weights "\n"

/* The first and third, then the second and fourth of four sums. */
#define JOIN_EVEN(sums) "vmov " sums "[2], " sums "[0], r0, r4\n"
#define JOIN_ODD(sums) "vmov " sums "[3], " sums "[1], r2, r6\n"

#define ADD_BIAS(sums) "vadd.i32 " sums ", " sums ", r1\n"
#define SCALE(sums) "vqrdmulh.s32 " sums ", " sums ", r3\n"
#define AWAY_FROM_ZERO(sums) "vqdmlah.s32 " sums ", " sums ", r8\n" /* see gemm_s8.c */
#define AS_IT_IS(sums) ""
#define SHIFT(sums) "vrshl.s32 " sums ", r5\n"

#define ADD_ZERO_POINT "vqadd.s16 q0, q0, r9\n"
#define NARROW "vqmovnb.s16 q0, q0\n"
#define STORE \
    "vstrb.16 q0, [r10, q2]\n" \
    "add r10, r11\n"

/* A round's first four sums are made by the round before, while that one's outputs are narrowed and stored:
   what else is to be done there depends on the instruction before it. */
#define START_STRIDE_1(ADD_ZERO_POINT, NARROW, STORE) \
    GATHER("q1") \
    MULTIPLY("r4", "q1", "q6") \
    ADD_ZERO_POINT \
    MULTIPLY("r0", "q1", "q4") \
    NARROW \
    MULTIPLY("r6", "q1", "q7") \
    STORE \
    MULTIPLY("r2", "q1", "q5")

/* Two patches of two by two outputs. */
#define ROUND_STRIDE_1(SHIFT_LEFT, ROUND) \
    JOIN_EVEN("q0") GATHER("q1") JOIN_ODD("q0") \
    MULTIPLY("r6", "q1", "q7") MULTIPLY("r0", "q1", "q4") MULTIPLY("r4", "q1", "q6") MULTIPLY("r2", "q1", "q5") \
    ADD_BIAS("q0") JOIN_EVEN("q1") JOIN_ODD("q1") ADD_BIAS("q1") \
    RESCALE(SHIFT_LEFT, ROUND)

#define START_STRIDE_2(ADD_ZERO_POINT, NARROW, STORE) \
    GATHER("q5") GATHER("q6") MULTIPLY("r0", "q5", "q4") GATHER("q5") \
    ADD_ZERO_POINT \
    MULTIPLY("r2", "q6", "q4") GATHER("q6") \
    NARROW \
    MULTIPLY("r4", "q5", "q4") \
    STORE \
    MULTIPLY("r6", "q6", "q4")

/* Eight patches of one output. */
#define ROUND_STRIDE_2(SHIFT_LEFT, ROUND) \
    JOIN_EVEN("q0") GATHER("q5") JOIN_ODD("q0") GATHER("q6") \
    MULTIPLY("r0", "q5", "q4") GATHER("q5") MULTIPLY("r2", "q6", "q4") ADD_BIAS("q0") \
    MULTIPLY("r4", "q5", "q4") GATHER("q6") MULTIPLY("r6", "q6", "q4") \
    JOIN_EVEN("q1") JOIN_ODD("q1") ADD_BIAS("q1") \
    RESCALE(SHIFT_LEFT, ROUND)

/* Of q0 and q1; the result is in q0, in 16 bits. */
#define RESCALE(SHIFT_LEFT, ROUND) \
    SHIFT_LEFT \
    SCALE("q0") ROUND("q0") SHIFT("q0") SCALE("q1") \
    "vqmovnb.s32 q0, q0\n" \
    ROUND("q1") SHIFT("q1") \
    "vqmovnt.s32 q0, q1\n"

#define PREPARE_GENERAL \
    "ubfx r0, r5, #8, #8\n" \
    "ubfx r8, r5, #16, #8\n" \
    "str r0, [r12, #40]\n"
#define SHIFT_LEFT_GENERAL \
    "ldr r0, [r12, #40]\n" \
    "vshl.s32 q0, r0\n" \
    "vshl.s32 q1, r0\n"
#define CLAMP_GENERAL \
    "vldrh.16 q1, [r12, #80]\n" \
    "vmax.s16 q0, q0, q1\n" \
    "vldrh.16 q1, [r12, #96]\n" \
    "vmin.s16 q0, q0, q1\n"

/* The clamp needs a register that the next round's sums need, too. */
#define NEXT_GENERAL(START) ADD_ZERO_POINT CLAMP_GENERAL NARROW STORE START("", "", "")
#define NEXT(START) START(ADD_ZERO_POINT, NARROW, STORE)

/* All channels of a block. */
#define PATCHES_FUNCTION(name, LOAD, START, PREPARE, ROUND, NEXT, CLAMP) \
    void name(struct patches *patches); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "mov r12, r0\n" \
          "ldrd r7, r10, [r12]\n" \
          "ldr r0, [r12, #8]\n" \
          "sub r0, #128\n" \
          "movs r2, #0\n" \
          "vidup.u32 q3, r2, #8\n" \
          "vshl.i32 q3, q3, #3\n" \
          "vadd.i32 q3, q3, r0\n" \
          "vldrh.16 q2, [r12, #48]\n" \
          "vldrh.16 q0, [r12, #64]\n" \
          "ldr r0, [r12, #44]\n" \
          "vcmp.s16 lt, q0, r0\n" \
          "mov r8, #1\n" \
          "ldr r9, [r12, #36]\n" \
          "ldr r11, [r12, #24]\n" \
          \
          "1:\n" \
          LOAD \
          "ldrd r1, r3, [r7, #20]\n" \
          "ldr r5, [r7, #28]\n" \
          "adds r7, #32\n" \
          PREPARE \
          START("", "", "") \
          "ldr lr, [r12, #16]\n" \
          "wls lr, lr, 3f\n" \
          "2:\n" \
          ROUND \
          NEXT(START) \
          "le lr, 2b\n" \
          "3:\n" \
          ROUND \
          ADD_ZERO_POINT \
          CLAMP \
          NARROW \
          "vpst\n" \
          "vstrbt.16 q0, [r10, q2]\n" \
          "ldrd r0, r2, [r12, #28]\n" \
          "vadd.i32 q3, q3, r0\n" \
          "add r10, r2\n" \
          "ldr r0, [r12, #12]\n" \
          "cmp r7, r0\n" \
          "bne.w 1b\n" \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

PATCHES_FUNCTION(cm_mve_stride_1_half_up, LOAD_STRIDE_1, START_STRIDE_1, "",
                 ROUND_STRIDE_1("", AS_IT_IS), NEXT, "");
PATCHES_FUNCTION(cm_mve_stride_1_right, LOAD_STRIDE_1, START_STRIDE_1, "",
                 ROUND_STRIDE_1("", AWAY_FROM_ZERO), NEXT, "");
PATCHES_FUNCTION(cm_mve_stride_1_general, LOAD_STRIDE_1, START_STRIDE_1, PREPARE_GENERAL,
                 ROUND_STRIDE_1(SHIFT_LEFT_GENERAL, AWAY_FROM_ZERO), NEXT_GENERAL, CLAMP_GENERAL);
PATCHES_FUNCTION(cm_mve_stride_2_half_up, LOAD_STRIDE_2, START_STRIDE_2, "",
                 ROUND_STRIDE_2("", AS_IT_IS), NEXT, "");
PATCHES_FUNCTION(cm_mve_stride_2_right, LOAD_STRIDE_2, START_STRIDE_2, "",
                 ROUND_STRIDE_2("", AWAY_FROM_ZERO), NEXT, "");
PATCHES_FUNCTION(cm_mve_stride_2_general, LOAD_STRIDE_2, START_STRIDE_2, PREPARE_GENERAL,
                 ROUND_STRIDE_2(SHIFT_LEFT_GENERAL, AWAY_FROM_ZERO), NEXT_GENERAL, CLAMP_GENERAL);
/* clang-format on */

static void run(struct patches *patches, int32_t stride, const struct cm_output *output)
{
    int32_t general = is_general(output), right = output->rounding == CM_ROUND_RIGHT;
    if (stride == 1)
        (general ? cm_mve_stride_1_general
         : right ? cm_mve_stride_1_right
                 : cm_mve_stride_1_half_up)(patches);
    else
        (general ? cm_mve_stride_2_general
         : right ? cm_mve_stride_2_right
                 : cm_mve_stride_2_half_up)(patches);
}

/* The outputs of a round. Stride 1: patches A and B, each two rows of two; stride 2: one row. If the band
   is a single row, the second row repeats the first and overwrites it. */
static void set_round(struct patches *patches, const struct cm_depthwise *d, int32_t next_row)
{
    for (int32_t i = 0; i < 8; ++i) {
        int32_t half = i % 2, index = i / 2;
        int32_t column = d->stride_width == 1 ? 2 * half + index % 2 : 4 * half + index;
        int32_t row = d->stride_width == 1 ? index / 2 : 0;
        patches->column[i] = (int16_t)column;
        patches->offsets[i] = (uint16_t)(column * d->channels + row * next_row);
        patches->minimum[i] = (int16_t)d->output.minimum;
        patches->maximum[i] = (int16_t)d->output.maximum;
    }
}

/* Output columns [x0, x0 + width) of all channels. */
static void convolve_columns(const struct cm_depthwise *d, struct patches *patches, int32_t x0, int32_t width)
{
    int32_t per_round = d->stride_width == 1 ? 4 : 8;
    int32_t rounds = (width + per_round - 1) / per_round;
    patches->rounds = rounds - 1;
    patches->last = width - (rounds - 1) * per_round;
    patches->out_step = per_round * d->channels;
    patches->next_out = 1 - (rounds - 1) * patches->out_step;
    patches->next_address = ROWS - rounds * (d->stride_width == 1 ? 2 : 8) * 2 * COLUMN_BYTES;

    int8_t *columns = d->workspace;
    struct cm_columns covered = cm_covered_columns(d, 3, x0, width);
    int8_t *inside = columns + covered.before * COLUMN_BYTES;
    memset(columns, d->input_zero_point, (size_t)(covered.before * COLUMN_BYTES));
    memset(inside + covered.inside * COLUMN_BYTES, d->input_zero_point,
           (size_t)(covered.after * COLUMN_BYTES));

    int8_t padding[LANES];
    memset(padding, d->input_zero_point, sizeof padding);
    struct cm_four_rows rows = cm_find_rows(d, 0, 2 + d->band, covered.first + covered.before, padding);
    for (int32_t c = 0; c < d->channels; c += LANES) {
        interleave(&rows, inside, COLUMN_BYTES, covered.inside);
        cm_advance_rows(&rows, LANES);
        int32_t channels = d->channels - c < LANES ? d->channels - c : LANES;
        patches->weights = (const int8_t *)d->weights + MARGIN + c * CHANNEL_BYTES;
        patches->weights_end = patches->weights + channels * CHANNEL_BYTES;
        patches->columns = columns;
        run(patches, d->stride_width, &d->output);
        patches->out += LANES;
    }
}

static void convolve_band(const struct cm_depthwise *d)
{
    struct patches patches = {.zero_point = d->output.zero_point, .row_shift = d->band == 2 ? -1 : 0};
    set_round(&patches, d, d->band == 2 ? d->out_rows[1] - d->out_rows[0] : 0);
    for (int32_t x = 0; x < d->out_width; x += d->chunk) {
        int32_t left = d->out_width - x;
        patches.out = d->out + d->out_rows[0] + x * d->channels;
        convolve_columns(d, &patches, x, left < d->chunk ? left : d->chunk);
    }
}

void cm_isa_depthwise_3x3_s8(const struct cm_depthwise *d)
{
    if (d->band == 1 || d->out_rows[1] > d->out_rows[0]) {
        convolve_band(d);
        return;
    }
    /* The second row is at the start of the ring. */
    struct cm_depthwise single = *d;
    single.band = 1;
    convolve_band(&single);
    ++single.input_rows;
    ++single.out_rows;
    convolve_band(&single);
}
