/* int8 matrix product with weights of four bits with MVE.

   Deep products multiply them as they are: a byte is 16 * second + first of two columns, of weights from -7
   to 7, and shifted right by four with rounding it is the second. Other products unpack them. */
#include "byte_product.h"
#include "cmrt/nibbles.h"
#include "deep_loop.h"
#include "unpack.h"

enum { MOST_ROWS = 2 * 0xffff, MOST_STRIDE = 0xffff - 3 };

/* Called by cm_mve_multiply_narrow, which compilers of whole programs do not see. */
__attribute__((used)) void cm_mve_start_narrow_product(struct product *product, const struct cm_gemm *gemm);

void cm_mve_multiply_narrow(const struct cm_gemm *gemm, product_loop *loop);

/* clang-format off */
#define FIRST "vmladav.s8"
#define MORE "vmladava.s8"
#define FIRST_COLUMN "vldrw.32 q2, [r1]\n"
#define NEXT_COLUMN "vldrw.32 q2, [r1, #32]!\n"
#define PART_FIRST "sub.w r0, r0, r2, lsl #4\n"
#define PART_THIRD "sub.w r8, r8, r10, lsl #4\n"

/* 16 depths: q0, q1 of the two rows, q2 and q3 of pairs of columns. Sums of the first columns also hold
   16 times those of the second ones. SPARE and OTHER are scalar instructions that cost nothing here. */
#undef MULTIPLY_CHUNK
#undef MULTIPLY_LAST
#define MULTIPLY_CHUNK(mac, SPARE, NEXT_ROW, NEXT_COLUMN) \
    MULTIPLY_PAIRS(mac, SPARE, "", NEXT_ROW, NEXT_COLUMN)
#define MULTIPLY_LAST MULTIPLY_PAIRS(MORE, "subs r11, #0x10000\n", PART_FIRST, PART_THIRD, NEXT_PAIR)
#define MULTIPLY_PAIRS(mac, SPARE, OTHER, NEXT_ROW, NEXT_COLUMN) \
    "vldrb.8 q1, [r5], #16\n" \
    mac " r0, q0, q2\n" \
    "vrshr.s8 q3, q2, #4\n" \
    mac " r8, q1, q2\n" \
    "vldrw.32 q2, [r1, #16]\n" \
    mac " r2, q0, q3\n" \
    SPARE \
    mac " r10, q1, q3\n" \
    "vrshr.s8 q3, q2, #4\n" \
    mac " r4, q0, q2\n" \
    OTHER \
    mac " r12, q1, q2\n" \
    NEXT_COLUMN \
    mac " r6, q0, q3\n" \
    NEXT_ROW \
    mac " lr, q1, q3\n"

/* With r1 behind the first chunk. */
#define LOAD_HEAD \
    "vldrw.32 q4, [r1, #-80]\n" \
    "vldrw.32 q5, [r1, #-64]\n" \
    "vldrw.32 q6, [r1, #-48]\n"

/* Parts the sums of two columns; those of r0 and r8 are parted between the last products. */
#define PART(LOAD_ONE) \
    "sub.w r4, r4, r6, lsl #4\n" \
    JOIN_ODD_0 \
    "sub.w r12, r12, lr, lsl #4\n" \
    JOIN_EVEN_0 LOAD_ONE

/* Products alternate with what other pipes execute, in the best order that was found for the model of the
   Cortex-M55. */
#define FINISH_AND_START_AT(PARTED, ROUND, AT, NEXT_COLUMN) \
    PARTED \
    ADD_BIAS("q0") \
    SCALE("q0") \
    LOAD_STEPS \
    ROUND("q0") \
    JOIN_EVEN_1 \
    SHIFT("q0") \
    JOIN_ODD_1 \
    "vldrw.32 q3, [r1, #" AT "]\n" \
    ADD_BIAS("q1") \
    SCALE("q1") \
    "add r3, r0\n" \
    ROUND("q1") \
    SHIFT("q1") \
    "add r5, r0\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vmladav.s8 r0, q2, q3\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vldrb.8 q7, [r5], #16\n" \
    "vmladav.s8 r8, q7, q3\n" \
    "vrshr.s8 q3, q3, #4\n" \
    "add r7, r2\n" \
    "vmladav.s8 r10, q7, q3\n" \
    "vqadd.s16 q0, q0, r11\n" \
    "vmladav.s8 r2, q2, q3\n" \
    "vldrw.32 q3, [r1, #" AT "+16]\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmladav.s8 r4, q2, q3\n" \
    "vstrb.16 q0, [r7, q1]\n" \
    "vmladav.s8 r12, q7, q3\n" \
    "vrshr.s8 q3, q3, #4\n" \
    NEXT_ROW \
    "vmladav.s8 r6, q2, q3\n" \
    NEXT_COLUMN \
    "vmladav.s8 lr, q7, q3\n"
#define FINISH_AND_START(LOAD_ONE, ROUND) FINISH_AND_START_AT(PART(LOAD_ONE), ROUND, "0", NEXT_COLUMN)

/* The last three of the four chunks of a pair of rows side by side. Weights are addressed from the second. */
#define MORE_AT(SPARE, AT, NEXT_ROW, NEXT_COLUMN) \
    "vldrb.8 q1, [r5], #16\n" MORE " r0, q0, q2\n" \
    "vrshr.s8 q3, q2, #4\n" MORE " r8, q1, q2\n" \
    "vldrw.32 q2, [r1, #" AT "+16]\n" MORE " r2, q0, q3\n" \
    SPARE \
    MORE " r10, q1, q3\n" \
    "vrshr.s8 q3, q2, #4\n" MORE " r4, q0, q2\n" \
    MORE " r12, q1, q2\n" \
    NEXT_COLUMN \
    MORE " r6, q0, q3\n" \
    NEXT_ROW \
    MORE " lr, q1, q3\n"
/* Even numbers of chunks, four or more: two in each turn. */
#define LOOP_OF_EVEN(name, LOAD_ONE, ROUND) \
    ".global " #name "\n.type " #name ",%function\n.thumb_func\n" #name ":\n" \
    "adr.w r2, 15f\n" \
    "b.w 0b\n" \
    \
    ".p2align 2\n" \
    "14:\n" \
    MULTIPLY_LAST \
    "bcc.w 4f\n" \
    FINISH_AND_START(LOAD_ONE, ROUND) \
    "15:\n" \
    MULTIPLY(MORE, "subs.w r9, r9, #2\n") \
    MULTIPLY(MORE, "") \
    "beq.w 14b\n" \
    "le 15b\n"

#define LOOP_OF_FOUR(name, LOAD_ONE, ROUND) \
    ".global " #name "\n.type " #name ",%function\n.thumb_func\n" #name ":\n" \
    "adr.w r2, 15f\n" \
    "b.w 0b\n" \
    \
    ".p2align 2\n" \
    "14:\n" \
    FINISH_AND_START_AT(PART(LOAD_ONE), ROUND, "-32", "vldrw.32 q2, [r1]\n") \
    "15:\n" \
    MORE_AT("", "0", NEXT_ROW, "vldrw.32 q2, [r1, #32]\n") \
    MORE_AT("", "32", NEXT_ROW, "vldrw.32 q2, [r1, #64]\n") \
    MORE_AT("subs r11, #0x10000\n", "64", PART_THIRD, PART_FIRST) \
    "bcc.w 16f\n" \
    "le 14b\n" \
    "16:\n" \
    NEXT_PAIR

#define LOOPS(name, LOAD_ONE, ROUND) \
    LOOP_OF_EVEN(name##_even, LOAD_ONE, ROUND) \
    LOOP_OF_FOUR(name##_four, LOAD_ONE, ROUND)

product_loop cm_mve_narrow_half_up_even, cm_mve_narrow_half_up_four;
product_loop cm_mve_narrow_right_even, cm_mve_narrow_right_four;
PRODUCT_ENTRY(cm_mve_multiply_narrow, cm_mve_start_narrow_product);
DEEP_LOOP_FROM(cm_mve_narrow_half_up, FINISH_AND_START("", AS_IT_IS), "", SKIP_LOOP,
               LOOPS(cm_mve_narrow_half_up, "", AS_IT_IS));
DEEP_LOOP_FROM(cm_mve_narrow_right, FINISH_AND_START(LOAD_ONE, AWAY_FROM_ZERO), "", SKIP_LOOP,
               LOOPS(cm_mve_narrow_right, LOAD_ONE, AWAY_FROM_ZERO));
/* clang-format on */

/* As with weights of eight bits, of which blocks have twice as many bytes. */
void cm_mve_start_narrow_product(struct product *product, const struct cm_gemm *gemm)
{
    const uint32_t last = (uint32_t)gemm->columns - 1, blocks = last / COLUMNS;
    cm_mve_start_product(product, gemm);
    product->block_bytes = (product->block_bytes + (int32_t)sizeof(struct block)) / 2;
    product->last = product->weights + (int32_t)blocks * product->block_bytes;
}

/* Loops of any, of even numbers and of four chunks. */
struct loops {
    product_loop *any, *even, *four;
};

/* As many rows at once as the assembly can count, or one if they are too far apart. */
static void multiply(const struct cm_gemm *gemm, struct loops loops)
{
    const int32_t most = gemm->out_stride <= MOST_STRIDE ? MOST_ROWS : 1;
    const int32_t chunks = (gemm->depth + CHUNK - 1) / CHUNK;
    product_loop *loop = chunks == 4 ? loops.four : chunks > 4 && chunks % 2 == 0 ? loops.even : loops.any;
    struct cm_gemm part = *gemm;
    part.weights = (const struct cm_nibbles *)gemm->weights + 1;
    for (int32_t row = 0; row < gemm->rows; row += most) {
        const int32_t left = gemm->rows - row;
        part.rows = left < most ? left : most;
        part.lhs = gemm->lhs + row * gemm->lhs_stride;
        part.out = gemm->out + row * gemm->out_stride;
        cm_mve_multiply_narrow(&part, loop);
    }
}

void cm_isa_gemm_s8_w4(const struct cm_gemm *gemm)
{
    if (cm_are_unpacked(gemm))
        cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8);
    else
        multiply(gemm,
                 (struct loops){cm_mve_narrow_right, cm_mve_narrow_right_even, cm_mve_narrow_right_four});
}

void cm_isa_gemm_s8_w4_half_up(const struct cm_gemm *gemm)
{
    if (cm_are_unpacked(gemm))
        cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8_half_up);
    else
        multiply(gemm, (struct loops){cm_mve_narrow_half_up, cm_mve_narrow_half_up_even,
                                      cm_mve_narrow_half_up_four});
}

void cm_isa_gemm_s8_w4_general(const struct cm_gemm *gemm)
{
    cm_multiply_nibbles(gemm, unpack, cm_isa_gemm_s8_general);
}
