/* int16 gates of one int8 row with the DSP extension: four gates at a time. */
#include "cmrt/gates.h"
#include "cmrt/isa.h"
#include "row_product.h"

#include <string.h>

/* Of four gates, after their biases and weights. If the rounding allows it, multiplier and shift are
   2 * multiplier - 2^32 and the bits to shift right after adding `offset`. */
struct rescale {
    int32_t multiplier, shift, offset;
};

/* clang-format off */
/* SMMLAR adds the high half of the product to the sum, because the multiplier is 2^32 too small. */
#define RESCALE(sum, multiplier, shift, offset) \
    "smmlar " sum ", " sum ", " multiplier ", " sum "\n" \
    "add " sum ", " sum ", " sum ", asr #31\n" \
    "add " sum ", " sum ", " offset "\n" \
    "asr " sum ", " sum ", " shift "\n"

#define ADD_TO_GATES(low, high) \
    "ldr r4, [r10]\n" \
    "sxtah " low ", " low ", r4\n" \
    "sxtah " high ", " high ", r4, ror #16\n" \
    "ssat " low ", #16, " low "\n" \
    "ssat " high ", #16, " high "\n" \
    "pkhbt " low ", " low ", " high ", lsl #16\n" \
    "str " low ", [r10], #4\n"

#define OUTPUT_GATES \
    "ldm r12!, {r4-r9}\n" \
    "ldr r10, [sp, #16]\n" \
    RESCALE("r0", "r4", "r5", "r6") \
    RESCALE("r1", "r7", "r8", "r9") \
    "ldm r12!, {r4-r9}\n" \
    RESCALE("r2", "r4", "r5", "r6") \
    RESCALE("r3", "r7", "r8", "r9") \
    ADD_TO_GATES("r0", "r1") \
    ADD_TO_GATES("r2", "r3") \
    "str r10, [sp, #16]\n"

STRIP_FUNCTION(cm_dsp_add_to_gates, PAIRED_PRELOAD, PAIRED_TURNS(MULTIPLY_PAIRED), PART_PAIRS OUTPUT_GATES);
STRIP_FUNCTION(cm_dsp_sum_gates, PAIRED_PRELOAD, PAIRED_TURNS(MULTIPLY_PAIRED), PART_PAIRS STORE_SUMS("48"));
/* clang-format on */

static void add_general(struct strip *strip, const int8_t *weights, int32_t bytes, int16_t *gates,
                        int32_t count)
{
    for (int32_t g = 0; g < count; g += COLUMNS, weights += bytes) {
        int32_t sums[COLUMNS];
        strip->weights = weights;
        strip->weights_end = weights + bytes;
        strip->out = sums;
        cm_dsp_sum_gates(strip);
        const struct rescale *rescale = (const struct rescale *)strip->weights_end - COLUMNS;
        for (int32_t i = 0; i < COLUMNS && g + i < count; ++i) {
            int32_t scaled = cm_requantize(sums[i], rescale[i].multiplier, rescale[i].shift);
            scaled = cm_clamp(scaled, 2 * INT16_MIN, 2 * INT16_MAX + 1);
            gates[g + i] = cm_clamp_s16(gates[g + i] + scaled);
        }
    }
}

static void add_right(struct strip *strip, const int8_t *weights, int32_t bytes, int16_t *gates,
                      int32_t count)
{
    int32_t whole = count / COLUMNS, rest = count % COLUMNS;
    const int8_t *last = weights + whole * bytes;
    if (whole > 0) {
        strip->weights = weights;
        strip->weights_end = last;
        strip->out = gates;
        cm_dsp_add_to_gates(strip);
    }
    if (rest > 0) {
        int16_t four[COLUMNS] = {0};
        memcpy(four, gates + whole * COLUMNS, (size_t)rest * sizeof *four);
        strip->weights = last;
        strip->weights_end = last + bytes;
        strip->out = four;
        cm_dsp_add_to_gates(strip);
        memcpy(gates + whole * COLUMNS, four, (size_t)rest * sizeof *four);
    }
}

void cm_isa_gemv_s16(const struct cm_gate_weights *weights, const int8_t *row, int16_t *gates,
                     void *workspace)
{
    int32_t bytes = block_bytes(weights->depth, PAIRED_BYTES, sizeof(struct rescale));
    struct strip strip = paired_strip_of(workspace, row, weights->depth, 0);
    if (weights->rounding == CM_ROUND_GENERAL)
        add_general(&strip, weights->packed, bytes, gates, weights->gates);
    else
        add_right(&strip, weights->packed, bytes, gates, weights->gates);
}
