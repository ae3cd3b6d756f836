/* int16 rows by int8 weights with MVE, of sums that fit 32 bits: two rows by four columns at a time,
   or one row by eight. */
#include "short_product.h"

enum {
    LEAST_CHUNKS = 2,
    LEAST_DEPTH = CHUNK + 1 /* bytes, of a loop of two chunks */
};

void cm_mve_multiply_short(const struct cm_gemm *gemm, product_loop *loop);
product_loop cm_mve_multiply_two_chunks;

/* clang-format off */
/* Eight depths of a row and of two blocks of four columns. 17 instructions of four bytes. */
#define MULTIPLY_ROW \
    "vldrh.16 q0, [r5], #16\n" \
    "vldrb.s16 q1, [r1], #32\n" \
    "vmladava.s16 r0, q0, q1\n" \
    "vldrb.s16 q2, [r1, #-24]\n" \
    "vmladava.s16 r2, q0, q2\n" \
    "vldrb.s16 q1, [r1, #-16]\n" \
    "vmladava.s16 r4, q0, q1\n" \
    "vldrb.s16 q2, [r1, #-8]\n" \
    "vmladava.s16 r6, q0, q2\n" \
    "vldrb.s16 q1, [r3], #32\n" \
    "vmladava.s16 r8, q0, q1\n" \
    "vldrb.s16 q2, [r3, #-24]\n" \
    "vmladava.s16 r10, q0, q2\n" \
    "vldrb.s16 q1, [r3, #-16]\n" \
    "vmladava.s16 r12, q0, q1\n" \
    "vldrb.s16 q2, [r3, #-8]\n" \
    "vmladava.s16 lr, q0, q2\n"

/* Outputs of four sums: the bias, multipliers and shifts of their columns are at `head`. */
#define FINISH_ROW(sums, head) \
    "vldrw.32 q2, [" head "]\n" \
    "vadd.i32 " sums ", " sums ", q2\n" \
    "vldrw.32 q2, [" head ", #16]\n" \
    "vmulh.s32 " sums ", " sums ", q2\n" \
    "vldrw.32 q2, [" head ", #32]\n" \
    "vrshl.s32 " sums ", " sums ", q2\n"

/* Operands of the assembly. */
struct row {
    const int16_t *lhs;
    const int8_t *weights; /* r1 */
    int16_t *out;          /* r7 */
    int32_t left;          /* r11: columns */
    int32_t chunks;
    int32_t block_bytes;
    int32_t minimum, maximum;
};
_Static_assert(offsetof(struct row, maximum) == 28, "used in assembly");

/* Two blocks of columns at a time, an odd last one twice; their first turn of eight chunks begins within if the
   number of chunks is no multiple of that. On the stack: operands; the first turn's entry, and turns. */
void cm_mve_multiply_short_row(const struct row *row);
__asm(CM_ASM_FUNCTION(cm_mve_multiply_short_row)
      "push {r4-r11, lr}\n"
      "sub sp, #44\n"
      "ldm r0, {r2-r9}\n"
      "stm sp, {r2-r9}\n"
      "rsb r0, r6, #0\n"
      "and r0, r0, #7\n"
      "add r6, #7\n"
      "lsr r6, r6, #3\n"
      "movs r8, #68\n"
      "mul r0, r0, r8\n"
      "adr.w r8, 2f + 1\n" /* Thumb */
      "add r0, r8\n"
      "strd r0, r6, [sp, #32]\n"
      "mov r1, r3\n"
      "mov r7, r4\n"
      "mov r11, r5\n"
      "1:\n"
      "ldr r2, [sp, #20]\n"
      "add r1, #48\n"
      "mov r3, r1\n"
      "cmp r11, #4\n"
      "it gt\n"
      "addgt r3, r1, r2\n"
      "ldr r5, [sp]\n"
      "strd r1, r3, [sp, #4]\n"
      "ldrd r6, r9, [sp, #32]\n"
      "str r6, [sp, #40]\n"
      "movs r0, #0\n"
      "movs r2, #0\n"
      "movs r4, #0\n"
      "movs r6, #0\n"
      "mov r8, r0\n"
      "mov r10, r0\n"
      "mov r12, r0\n"
      "mov lr, r0\n"
      "ldr pc, [sp, #40]\n"
      ".p2align 2\n"
      "2:\n"
      MULTIPLY_ROW MULTIPLY_ROW MULTIPLY_ROW MULTIPLY_ROW
      MULTIPLY_ROW MULTIPLY_ROW MULTIPLY_ROW MULTIPLY_ROW
      "subs r9, #1\n"
      "bne.w 2b\n"

      "vmov q0[2], q0[0], r0, r4\n"
      "ldrd r5, r9, [sp, #4]\n"
      "vmov q0[3], q0[1], r2, r6\n"
      "sub r5, #48\n"
      "vmov q1[2], q1[0], r8, r12\n"
      "sub r9, #48\n"
      "vmov q1[3], q1[1], r10, lr\n"
      "ldrd r2, r4, [sp, #24]\n"
      FINISH_ROW("q0", "r5")
      "vdup.32 q3, r2\n"
      FINISH_ROW("q1", "r9")
      "vmax.s32 q0, q0, q3\n"
      "vdup.32 q2, r4\n"
      "vmax.s32 q1, q1, q3\n"
      "vmin.s32 q0, q0, q2\n"
      "vmin.s32 q1, q1, q2\n"
      "vctp.32 r11\n"
      "vpst\n"
      "vstrht.32 q0, [r7], #8\n"
      "subs r11, #4\n"
      "ble 3f\n"
      "vctp.32 r11\n"
      "vpst\n"
      "vstrht.32 q1, [r7], #8\n"
      "ldr r1, [sp, #20]\n"
      "add r1, r9\n"
      "subs r11, #4\n"
      "bgt.w 1b\n"
      "3:\n"
      "add sp, #44\n"
      "pop {r4-r11, pc}\n"
      CM_ASM_END);

/* Between the two chunks of a pair of rows there are none. */
#define LOOP_OF_TWO(name) \
    ".global " #name "\n.type " #name ",%function\n.thumb_func\n" #name ":\n" \
    "adr.w r2, 15f\n" \
    "b.w 0b\n" \
    \
    ".p2align 2\n" \
    "14:\n" \
    FINISH_AND_START \
    "15:\n" \
    MULTIPLY_LAST \
    "bcc.w 4f\n" \
    "le 14b\n"

PRODUCT_ENTRY(cm_mve_multiply_short, cm_mve_start_short_product);
DEEP_LOOP_FROM(cm_mve_multiply_short_loop, FINISH_AND_START, "", "", LOOP_OF_TWO(cm_mve_multiply_two_chunks));
/* clang-format on */

/* As for int8 rows of as many bytes, but that chunks of weights are half as long and columns of outputs twice
   as far apart. */
void cm_mve_start_short_product(struct product *product, const struct cm_gemm *gemm)
{
    const uint32_t last = (uint32_t)gemm->columns - 1, blocks = last / COLUMNS;
    cm_mve_start_product(product, gemm);
    halve_weights(product, gemm);
    product->out_rewind += COLUMNS;
    const uint16x8_t column = vshrq_n_u16(vidupq_n_u16(0, 1), 1);
    const uint16x8_t last_column = vminq_u16(column, vdupq_n_u16((uint16_t)(last % COLUMNS)));
    vstrhq_u16(product->last_offsets, vaddq_u16(vldrhq_u16(product->last_offsets), last_column));
    vstrhq_u16(product->offsets, vaddq_u16(vldrhq_u16(product->offsets), blocks > 0 ? column : last_column));
}

/* One row, by two blocks of columns at a time. */
static void multiply_row(const struct cm_gemm *gemm, const struct cm_short_range *range)
{
    enum { DEPTHS = 8, HEAD = 3 * COLUMNS * (int)sizeof(int32_t) };
    const int32_t chunks = (gemm->depth / (int32_t)sizeof(int16_t) + DEPTHS - 1) / DEPTHS;
    const int32_t whole = chunks < LEAST_CHUNKS ? LEAST_CHUNKS : chunks;
    const struct row row = {
        .lhs = (const int16_t *)(const void *)gemm->lhs,
        .weights = (const int8_t *)(range + 1),
        .out = (int16_t *)(void *)gemm->out,
        .left = gemm->columns / (int32_t)sizeof(int16_t),
        .chunks = chunks,
        .block_bytes = HEAD + whole * COLUMNS * DEPTHS,
        .minimum = range->minimum,
        .maximum = range->maximum,
    };
    if (row.left > 0)
        cm_mve_multiply_short_row(&row);
}

void cm_isa_gemm_s16(const struct cm_gemm *gemm)
{
    const struct cm_short_range *range = gemm->weights;
    if (gemm->rows == 1) {
        multiply_row(gemm, range);
        return;
    }
    struct cm_gemm counted = *gemm;
    counted.weights = range + 1;
    counted.columns = gemm->columns / (int32_t)sizeof(int16_t);
    counted.depth = gemm->depth > LEAST_DEPTH ? gemm->depth : LEAST_DEPTH;
    counted.output.minimum = range->minimum;
    const bool are_two = counted.depth <= 2 * CHUNK;
    cm_mve_multiply_parts(&counted, cm_mve_multiply_short,
                          are_two ? cm_mve_multiply_two_chunks : cm_mve_multiply_short_loop);
    limit(&counted, range->maximum);
}
