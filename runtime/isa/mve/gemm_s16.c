/* int16 rows by int8 weights with MVE, of sums that fit 32 bits: two rows by four columns at a time. Weights
   are widened as they are loaded. Rescaling is requantize_s64 for such sums: VMULH by the multiplier in the
   upper half of a word, VRSHL by the rest of the shift. */
#include "cmrt/isa.h"
#include "cmrt/short_output.h"
#include "deep_loop.h"

#include <arm_mve.h>

enum {
    LEAST_DEPTH = CHUNK + 1, /* bytes, of a loop of two chunks */
    MOST_ROWS = 2 * 0xffff,
    MOST_STRIDE = 0xffff - 7
};

/* Called by cm_mve_multiply_short, which compilers of whole programs do not see. */
__attribute__((used)) void cm_mve_start_short_product(struct product *product, const struct cm_gemm *gemm);

void cm_mve_multiply_short(const struct cm_gemm *gemm, product_loop *loop);

/* clang-format off */
#define FIRST "vmladav.s16"
#define MORE "vmladava.s16"
#define FIRST_COLUMN "vldrb.s16 q2, [r1]\n"
#define NEXT_COLUMN "vldrb.s16 q2, [r1, #32]!\n"

/* 8 depths: q0, q1 of the two rows, q2 and q3 of the columns. */
#define MULTIPLY_CHUNK(mac, SPARE, NEXT_ROW, NEXT_COLUMN) \
    mac " r0, q0, q2\n" \
    "vldrh.16 q1, [r5], #16\n" \
    mac " r8, q1, q2\n" \
    "vldrb.s16 q3, [r1, #8]\n" \
    mac " r2, q0, q3\n" \
    "vldrb.s16 q2, [r1, #16]\n" \
    mac " r10, q1, q3\n" \
    "vldrb.s16 q3, [r1, #24]\n" \
    mac " r4, q0, q2\n" \
    SPARE \
    mac " r6, q0, q3\n" \
    NEXT_ROW \
    mac " r12, q1, q2\n" \
    NEXT_COLUMN \
    mac " lr, q1, q3\n"

/* With r1 behind the first chunk. */
#define LOAD_HEAD \
    "vldrw.32 q4, [r1, #-80]\n" \
    "vldrw.32 q5, [r1, #-64]\n" \
    "vldrw.32 q6, [r1, #-48]\n"

#define SCALE(sums) "vmulh.s32 " sums ", " sums ", q5\n"

/* Products alternate with what other pipes execute. Outputs below the minimum become it. */
#define FINISH_AND_START \
    JOIN_EVEN_0 \
    "vldrb.s16 q3, [r1]\n" \
    JOIN_ODD_0 \
    LOAD_STEPS \
    JOIN_EVEN_1 \
    ADD_BIAS("q0") \
    "add r7, r2\n" \
    SCALE("q0") \
    "add r3, r0\n" \
    "add r5, r0\n" \
    JOIN_ODD_1 \
    SHIFT("q0") \
    "ldr r4, [sp, #72]\n" \
    "vldrh.16 q2, [r3], #16\n" \
    ADD_BIAS("q1") SCALE("q1") \
    "vmladav.s16 r0, q2, q3\n" \
    "vldrh.16 q7, [r5], #16\n" \
    SHIFT("q1") \
    "vmladav.s16 r8, q7, q3\n" \
    "vldrb.s16 q3, [r1, #8]\n" \
    "vmladav.s16 r2, q2, q3\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmladav.s16 r10, q7, q3\n" \
    "vldrb.s16 q3, [r1, #16]\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vmladav.s16 r12, q7, q3\n" \
    "vpt.s16 lt, q0, r4\n" \
    "vdupt.16 q0, r4\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmladav.s16 r4, q2, q3\n" \
    "vldrb.s16 q3, [r1, #24]\n" \
    "vmladav.s16 r6, q2, q3\n" \
    "vstrh.16 q0, [r7, q1]\n" \
    "vmladav.s16 lr, q7, q3\n" \
    NEXT_COLUMN \
    NEXT_ROW

PRODUCT_ENTRY(cm_mve_multiply_short, cm_mve_start_short_product);
DEEP_LOOP(cm_mve_multiply_short_loop, FINISH_AND_START);
/* clang-format on */

/* As for int8 rows of as many bytes, but that chunks of weights are half as long and columns of outputs twice
   as far apart. */
void cm_mve_start_short_product(struct product *product, const struct cm_gemm *gemm)
{
    const uint32_t last = (uint32_t)gemm->columns - 1, blocks = last / COLUMNS;
    cm_mve_start_product(product, gemm);
    product->block_bytes = (product->block_bytes + (int32_t)sizeof(struct block)) / 2;
    product->last = product->weights + (int32_t)blocks * product->block_bytes;
    product->out_rewind += COLUMNS;
    const uint16x8_t column = vshrq_n_u16(vidupq_n_u16(0, 1), 1);
    const uint16x8_t last_column = vminq_u16(column, vdupq_n_u16((uint16_t)(last % COLUMNS)));
    vstrhq_u16(product->last_offsets, vaddq_u16(vldrhq_u16(product->last_offsets), last_column));
    vstrhq_u16(product->offsets, vaddq_u16(vldrhq_u16(product->offsets), blocks > 0 ? column : last_column));
}

/* Outputs of a row above the maximum become it. */
static void limit(int16_t *out, int32_t count, int32_t maximum)
{
    const int16x8_t most = vdupq_n_s16((int16_t)maximum);
    for (int32_t i = 0; i < count; i += 8) {
        mve_pred16_t tail = vctp16q((uint32_t)(count - i));
        vst1q_p_s16(out + i, vminq_s16(vld1q_z_s16(out + i, tail), most), tail);
    }
}

/* As many rows at once as the assembly can count, or one if they are too far apart: distances between outputs
   have 16 bits. */
void cm_isa_gemm_s16(const struct cm_gemm *gemm)
{
    const struct cm_short_range *range = gemm->weights;
    const int32_t most = gemm->out_stride <= MOST_STRIDE ? MOST_ROWS : 1;
    struct cm_gemm part = *gemm;
    part.weights = range + 1;
    part.columns = gemm->columns / (int32_t)sizeof(int16_t);
    part.depth = gemm->depth > LEAST_DEPTH ? gemm->depth : LEAST_DEPTH;
    part.output.minimum = range->minimum;
    for (int32_t row = 0; row < gemm->rows; row += most) {
        const int32_t left = gemm->rows - row;
        part.rows = left < most ? left : most;
        part.lhs = gemm->lhs + row * gemm->lhs_stride;
        part.out = gemm->out + row * gemm->out_stride;
        cm_mve_multiply_short(&part, cm_mve_multiply_short_loop);
    }
    if (range->maximum < INT16_MAX)
        for (int32_t row = 0; row < gemm->rows; ++row)
            limit((int16_t *)(void *)(gemm->out + row * gemm->out_stride), part.columns, range->maximum);
}
