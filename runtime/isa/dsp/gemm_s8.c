/* int8 matrix product with the DSP extension: two rows by two columns at a time.

   SMLAD multiplies two pairs of 16 bits. Rows are widened once, two at a time; weights are widened at each
   use, as they would otherwise take twice the flash. Assembly, because it needs all fourteen registers. */
#include "cmrt/isa.h"
#include "simd.h"

enum { DEPTHS = 4, TURN = 4, PAIR_CODE = 56, SINGLE_CODE = 40 };

/* Follows the weights of two columns, four depths of each in turn; the two biases precede the weights. If the
   output allows it, multiplier and shift are 2 * multiplier - 2^32 and the bits to shift right after adding
   `offset`, which holds half of what is shifted out, and the zero point. */
struct rescale {
    int32_t multiplier, shift, offset;
};

/* Operands of the assembly: one or two rows and some pairs of columns. */
struct strip {
    const int16_t *row, *row_end; /* widened: depths 0 and 2, 1 and 3 of the first row, then of the second */
    int32_t entry;                /* entry point, in bytes from the loop's start */
    const void *weights_end;
    int8_t *out;
    int32_t out_stride;
    const void *weights;
    int32_t *sums; /* destination of the sums if C rescales them */
};

/* clang-format off */
#define WEIGHTS \
    "ldrd r5, r7, [r12], #8\n" \
    "sxtb16 r4, r5\n" \
    "sxtb16 r5, r5, ror #8\n" \
    "sxtb16 r6, r7\n" \
    "sxtb16 r7, r7, ror #8\n"

/* Four depths, in instructions of four bytes: 14 for two rows, 10 for one. */
#define MULTIPLY_PAIR \
    WEIGHTS \
    "ldm lr!, {r8-r11}\n" \
    "smlad r0, r8, r4, r0\n" \
    "smlad r1, r8, r6, r1\n" \
    "smlad r2, r10, r4, r2\n" \
    "smlad r3, r10, r6, r3\n" \
    "smlad r0, r9, r5, r0\n" \
    "smlad r1, r9, r7, r1\n" \
    "smlad r2, r11, r5, r2\n" \
    "smlad r3, r11, r7, r3\n"

#define MULTIPLY_SINGLE \
    WEIGHTS \
    "ldrd r8, r9, [lr], #8\n" \
    "smlad r0, r8, r4, r0\n" \
    "smlad r1, r8, r6, r1\n" \
    "smlad r0, r9, r5, r0\n" \
    "smlad r1, r9, r7, r1\n"

/* SMMLAR adds the high half of the product to the sum, because the multiplier is 2^32 too small. */
#define RESCALE(sum, multiplier, shift, offset) \
    "smmlar " sum ", " sum ", " multiplier ", " sum "\n" \
    "add " sum ", " sum ", " sum ", asr #31\n" \
    "add " sum ", " sum ", " offset "\n" \
    "asr " sum ", " sum ", " shift "\n" \
    "ssat " sum ", #8, " sum "\n"

#define OUTPUT_PAIR \
    "ldm r12!, {r4-r9}\n" \
    "ldrd r10, r11, [sp, #16]\n" \
    RESCALE("r0", "r4", "r5", "r6") \
    RESCALE("r2", "r4", "r5", "r6") \
    RESCALE("r1", "r7", "r8", "r9") \
    RESCALE("r3", "r7", "r8", "r9") \
    "strb r0, [r10]\n" \
    "strb r2, [r10, r11]\n" \
    "strb r1, [r10, #1]!\n" \
    "strb r3, [r10, r11]\n" \
    "add r10, #1\n" \
    "str r10, [sp, #16]\n"

#define OUTPUT_SINGLE \
    "ldm r12!, {r4-r9}\n" \
    "ldr r10, [sp, #16]\n" \
    RESCALE("r0", "r4", "r5", "r6") \
    RESCALE("r1", "r7", "r8", "r9") \
    "strb r0, [r10], #1\n" \
    "strb r1, [r10], #1\n" \
    "str r10, [sp, #16]\n"

/* Leaves the sums and the rescaling to C. */
#define STORE_SUMS \
    "ldr r4, [sp, #24]\n" \
    "stm r4!, {r0-r3}\n" \
    "str r4, [sp, #24]\n" \
    "add r12, #24\n"

#define STRIP_FUNCTION(name, MULTIPLY, OUTPUT) \
    void name(const struct strip *strip); \
    __asm(".section .text." #name ",\"ax\",%progbits\n" \
          ".syntax unified\n" \
          ".thumb\n" \
          ".thumb_func\n" \
          ".p2align 2\n" \
          ".type " #name ",%function\n" \
          #name ":\n" \
          "push {r4-r11, lr}\n" \
          "sub sp, #28\n" \
          "ldm r0!, {r1-r6}\n" \
          "stm sp, {r1-r6}\n" \
          "ldrd r12, r1, [r0]\n" \
          "str r1, [sp, #24]\n" \
          "adr.w r1, 2f\n" \
          "add r1, r3\n" \
          "add r1, #1\n" /* Thumb */ \
          "str r1, [sp, #8]\n" \
          \
          "1:\n" \
          "ldrd r0, r1, [r12], #8\n" \
          "mov r2, r0\n" \
          "mov r3, r1\n" \
          "ldr lr, [sp]\n" \
          "ldr pc, [sp, #8]\n" \
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
          "add sp, #28\n" \
          "pop {r4-r11, pc}\n" \
          ".text\n")

STRIP_FUNCTION(cm_dsp_multiply_pair, MULTIPLY_PAIR, OUTPUT_PAIR);
STRIP_FUNCTION(cm_dsp_multiply_single, MULTIPLY_SINGLE, OUTPUT_SINGLE);
STRIP_FUNCTION(cm_dsp_sum_pair, MULTIPLY_PAIR, STORE_SUMS);
/* clang-format on */

static void widen_pair(uint32_t *out, const int8_t *row0, const int8_t *row1, int32_t depth)
{
    for (int32_t k = 0; k < depth; k += DEPTHS) {
        uint32_t word0 = load_bytes(row0 + k), word1 = load_bytes(row1 + k);
        *out++ = widen_even(word0);
        *out++ = widen_odd(word0);
        *out++ = widen_even(word1);
        *out++ = widen_odd(word1);
    }
}

typedef void strip_function(const struct strip *strip);

/* The rows of a strip: `count` is one or two. */
static void set_rows(struct strip *strip, const struct cm_gemm *gemm, const int8_t *lhs, int32_t count)
{
    int32_t chunks = gemm->depth > 0 ? (gemm->depth + DEPTHS - 1) / DEPTHS : 1;
    int32_t skipped = -chunks & (TURN - 1);
    if (count == 2)
        widen_pair(gemm->workspace, lhs, lhs + gemm->lhs_stride, gemm->depth);
    else
        widen_single(gemm->workspace, lhs, gemm->depth);
    strip->row = gemm->workspace;
    strip->row_end = strip->row + chunks * count * DEPTHS;
    strip->entry = skipped * (count == 2 ? PAIR_CODE : SINGLE_CODE);
}

static int32_t block_bytes(const struct cm_gemm *gemm)
{
    int32_t chunks = gemm->depth > 0 ? (gemm->depth + DEPTHS - 1) / DEPTHS : 1;
    return 2 * (int32_t)sizeof(int32_t) + chunks * 2 * DEPTHS + 2 * (int32_t)sizeof(struct rescale);
}

static void multiply(const struct cm_gemm *gemm, struct strip *strip, int8_t *out, int32_t count)
{
    strip_function *run = count == 2 ? cm_dsp_multiply_pair : cm_dsp_multiply_single;
    const int8_t *weights = gemm->weights;
    const int8_t *pairs_end = weights + gemm->columns / 2 * block_bytes(gemm);
    if (pairs_end != weights) {
        strip->weights = weights;
        strip->weights_end = pairs_end;
        strip->out = out;
        strip->out_stride = gemm->out_stride;
        run(strip);
    }
    if (gemm->columns % 2 != 0) {
        int8_t last[4];
        strip->weights = pairs_end;
        strip->weights_end = pairs_end + block_bytes(gemm);
        strip->out = last;
        strip->out_stride = 2;
        run(strip);
        out += gemm->columns - 1;
        out[0] = last[0];
        if (count == 2)
            out[gemm->out_stride] = last[2];
    }
}

/* For outputs that the assembly does not support. */
static void multiply_general(const struct cm_gemm *gemm, struct strip *strip, int8_t *out, int32_t count)
{
    const int8_t *weights = gemm->weights;
    for (int32_t c = 0; c < gemm->columns; c += 2, weights = strip->weights_end) {
        int32_t sums[4];
        strip->weights = weights;
        strip->weights_end = weights + block_bytes(gemm);
        strip->sums = sums;
        cm_dsp_sum_pair(strip);
        const struct rescale *rescale = (const struct rescale *)strip->weights_end - 2;
        for (int32_t i = 0; i < 2 && c + i < gemm->columns; ++i)
            for (int32_t r = 0; r < count; ++r)
                out[r * gemm->out_stride + c + i] =
                    cm_output_s8(&gemm->output, sums[2 * r + i], rescale[i].multiplier, rescale[i].shift);
    }
}

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    const struct cm_output *output = &gemm->output;
    int32_t is_general =
        output->rounding == CM_ROUND_GENERAL || output->minimum != INT8_MIN || output->maximum != INT8_MAX;
    for (int32_t r = 0; r < gemm->rows; r += 2) {
        struct cm_gemm pair = *gemm;
        struct strip strip;
        const int8_t *lhs = gemm->lhs + r * gemm->lhs_stride;
        int8_t *out = gemm->out + r * gemm->out_stride;
        int32_t count = r + 1 < gemm->rows ? 2 : 1;
        if (!is_general) {
            set_rows(&strip, gemm, lhs, count);
            multiply(gemm, &strip, out, count);
        } else {
            pair.lhs_stride = count == 2 ? gemm->lhs_stride : 0;
            set_rows(&strip, &pair, lhs, 2);
            multiply_general(gemm, &strip, out, count);
        }
    }
}
