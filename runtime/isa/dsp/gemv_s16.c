/* int16 gates of one int8 row with the DSP extension: four gates at a time.

   As in gemm_s8.c, the row is widened once and weights at each use, and the assembly needs all fourteen
   registers. */
#include "cmrt/gates.h"
#include "cmrt/isa.h"
#include "simd.h"

#include <string.h>

enum { GATES = 4, DEPTHS = 4, TURN = 4, CODE = 72 };

/* Follows the biases and weights of four gates, four depths of each in turn. If the rounding allows it,
   multiplier and shift are 2 * multiplier - 2^32 and the bits to shift right after adding `offset`. */
struct rescale {
    int32_t multiplier, shift, offset;
};

/* Operands of the assembly, which copies all but the weights to its stack frame. */
struct strip {
    const uint32_t *row, *row_end; /* widened */
    int32_t entry;                 /* entry point, in bytes from the loop's start */
    const void *weights_end;
    void *out; /* gates, or sums if C rescales them */
    const void *weights;
};

/* clang-format off */
#define COLUMN(sum, weights) \
    "sxtb16 r10, " weights "\n" \
    "sxtb16 " weights ", " weights ", ror #8\n" \
    "smlad " sum ", r8, r10, " sum "\n" \
    "smlad " sum ", r9, " weights ", " sum "\n"

/* Four depths: 18 instructions of four bytes. */
#define MULTIPLY \
    "ldrd r8, r9, [lr], #8\n" \
    "ldm.w r12!, {r4-r7}\n" \
    COLUMN("r0", "r4") COLUMN("r1", "r5") COLUMN("r2", "r6") COLUMN("r3", "r7")

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

#define OUTPUT_SUMS \
    "ldr r10, [sp, #16]\n" \
    "stm r10!, {r0-r3}\n" \
    "str r10, [sp, #16]\n" \
    "add r12, #48\n"

#define STRIP_FUNCTION(name, OUTPUT) \
    void name(const struct strip *strip); \
    __asm(".section .text." #name ",\"ax\",%progbits\n" \
          ".syntax unified\n" \
          ".thumb\n" \
          ".thumb_func\n" \
          ".p2align 2\n" \
          ".type " #name ",%function\n" \
          #name ":\n" \
          "push {r4-r11, lr}\n" \
          "sub sp, #20\n" \
          "ldm r0!, {r1-r5}\n" \
          "stm sp, {r1-r5}\n" \
          "ldr r12, [r0]\n" \
          "adr.w r1, 2f\n" \
          "add r1, r3\n" \
          "add r11, r1, #1\n" /* Thumb */ \
          \
          "1:\n" \
          "ldm r12!, {r0-r3}\n" \
          "ldr lr, [sp]\n" \
          "bx r11\n" \
          ".p2align 2\n" \
          "2:\n" \
          MULTIPLY MULTIPLY MULTIPLY MULTIPLY \
          "ldr r4, [sp, #4]\n" \
          "cmp lr, r4\n" \
          "bne.w 2b\n" \
          OUTPUT \
          "ldr r4, [sp, #12]\n" \
          "cmp r12, r4\n" \
          "bne.w 1b\n" \
          "add sp, #20\n" \
          "pop {r4-r11, pc}\n" \
          ".text\n")

STRIP_FUNCTION(cm_dsp_add_to_gates, OUTPUT_GATES);
STRIP_FUNCTION(cm_dsp_sum_gates, OUTPUT_SUMS);
/* clang-format on */

static void add_general(struct strip *strip, const int8_t *weights, int32_t block_bytes, int16_t *gates,
                        int32_t count)
{
    for (int32_t g = 0; g < count; g += GATES, weights += block_bytes) {
        int32_t sums[GATES];
        strip->weights = weights;
        strip->weights_end = weights + block_bytes;
        strip->out = sums;
        cm_dsp_sum_gates(strip);
        const struct rescale *rescale = (const struct rescale *)strip->weights_end - GATES;
        for (int32_t i = 0; i < GATES && g + i < count; ++i) {
            int32_t scaled = cm_requantize(sums[i], rescale[i].multiplier, rescale[i].shift);
            scaled = cm_clamp(scaled, 2 * INT16_MIN, 2 * INT16_MAX + 1);
            gates[g + i] = cm_clamp_s16(gates[g + i] + scaled);
        }
    }
}

static void add_right(struct strip *strip, const int8_t *weights, int32_t block_bytes, int16_t *gates,
                      int32_t count)
{
    int32_t whole = count / GATES, rest = count % GATES;
    const int8_t *last = weights + whole * block_bytes;
    if (whole > 0) {
        strip->weights = weights;
        strip->weights_end = last;
        strip->out = gates;
        cm_dsp_add_to_gates(strip);
    }
    if (rest > 0) {
        int16_t four[GATES] = {0};
        memcpy(four, gates + whole * GATES, (size_t)rest * sizeof *four);
        strip->weights = last;
        strip->weights_end = last + block_bytes;
        strip->out = four;
        cm_dsp_add_to_gates(strip);
        memcpy(gates + whole * GATES, four, (size_t)rest * sizeof *four);
    }
}

void cm_isa_gemv_s16(const struct cm_gate_weights *weights, const int8_t *row, int16_t *gates,
                     void *workspace)
{
    int32_t chunks = weights->depth > 0 ? (weights->depth + DEPTHS - 1) / DEPTHS : 1;
    int32_t block_bytes = GATES * (chunks * DEPTHS + (int32_t)(sizeof(int32_t) + sizeof(struct rescale)));
    struct strip strip = {.row = workspace, .entry = (-chunks & (TURN - 1)) * CODE};
    strip.row_end = strip.row + chunks * DEPTHS / 2;
    widen_single(workspace, row, weights->depth);
    if (weights->rounding == CM_ROUND_GENERAL)
        add_general(&strip, weights->packed, block_bytes, gates, weights->gates);
    else
        add_right(&strip, weights->packed, block_bytes, gates, weights->gates);
}
