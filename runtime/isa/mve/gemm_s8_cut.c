/* int8 matrix product with MVE of windows whose first or last rows lie in the padding. Their weights are
   skipped, and a block's biases are those of the padding. */
#include "cmrt/isa.h"
#include "deep_product.h"

#include <arm_mve.h>

enum { MOST_COLUMNS = 64 /* whose biases are in memory at once */ };

struct operands {
    const struct cm_cut_gemm *gemm;
    int32_t bias[MOST_COLUMNS];
};

/* In the stack frame of the assembly. `between` has two bits for each two chunks after the first, from the
   highest on: whether the weights are those of the last two, and whether weights are skipped among them. The
   low half of `counter` is the bytes of weights to skip. */
struct cut_product {
    struct product product;
    int32_t used[3]; /* in other loops */
    int32_t zero_point;
    const int32_t *bias;   /* of the next block */
    int32_t from_multiply; /* from the weights that are not skipped back to those of a block */
};
_Static_assert(offsetof(struct cut_product, zero_point) == 112, "used in assembly");

void cm_mve_multiply_cut(const struct operands *operands, product_loop *loop);
product_loop cm_mve_multiply_cut_blocks;
__attribute__((used)) void cm_mve_start_cut_product(struct cut_product *cut, const struct operands *operands);

void cm_mve_start_cut_product(struct cut_product *cut, const struct operands *operands)
{
    const struct cm_cut_gemm *const gemm = operands->gemm;
    struct product *const product = &cut->product;
    const int32_t parts = gemm->product.depth / gemm->part, chunks = gemm->left / CHUNK;
    struct cm_gemm left = gemm->product;
    left.depth = parts * gemm->left;
    cm_mve_start_product(product, &left);
    product->block_bytes = (int32_t)sizeof(struct block) + gemm->product.depth * COLUMNS;
    cut->from_multiply = gemm->first * COLUMNS;
    product->weights += cut->from_multiply;
    product->last = product->weights + (left.columns / COLUMNS - 1) * product->block_bytes;
    product->counter = (product->counter & 0xffff0000) | (uint32_t)((gemm->part - gemm->left) * COLUMNS);
    uint32_t turns = 0, bit = UINT32_C(1) << 31;
    for (int32_t done = 2; done < parts * chunks; done += 2, bit >>= 2)
        turns |= done % chunks == 0 ? bit >> 1 : 0;
    product->between = (int32_t)(turns | bit);
    cut->zero_point = left.output.zero_point;
    cut->bias = operands->bias;
}

/* clang-format off */
#define FINISH_CUT RIGHT_BY(LOAD_ONE, "ldr r2, [sp, #112]\n", "r2")

/* For pairs of rows and blocks of four columns. Behind the last pair of a block FINISH_CUT begins the next one.
   Greater is one within a block, equal the last one. */
__asm(CM_ASM_FUNCTION(cm_mve_multiply_cut_blocks)
      "ldrd r9, r1, [sp]\n"
      NEXT_ROW
      FIRST_COLUMN
      MULTIPLY(FIRST, "")
      "b.w 6f\n"

      ".p2align 2\n"
      "1:\n"
      MULTIPLY_LAST
      "bcc.w 4f\n"
      "2:\n"
      FINISH_CUT
      "bls.w 5f\n"
      "3:\n"
      MULTIPLY(MORE, "lsls.w r9, r9, #2\n it cs\n uxtahcs r1, r1, r11\n")
      MULTIPLY(MORE, "")
      "bmi.w 1b\n"
      "le 3b\n"

      "4:\n"
      "ldrd r3, r5, [sp, #64]\n"
      "ldr r9, [sp, #28]\n"
      "cmp r1, r9\n"
      "ldr r9, [sp, #48]\n"
      "it cc\n"
      "addcc r1, r9\n"
      "str r1, [sp, #4]\n"
      FIRST_COLUMN
      "b.w 2b\n"
      "5:\n"
      "beq.w 7f\n"
      "ldr r9, [sp, #96]\n"
      "add r7, r9\n"
      "6:\n"
      "ldr r9, [sp, #120]\n"
      "sub r9, r1, r9\n"
      "vldrw.32 q5, [r9, #-96]\n"
      "vldrw.32 q6, [r9, #-80]\n"
      "ldr r9, [sp, #116]\n"
      "vldrw.32 q4, [r9], #16\n"
      "str r9, [sp, #116]\n"
      "ldr r11, [sp, #52]\n"
      "ldr r9, [sp]\n"
      "b.w 3b\n"
      "7:\n"
      LEAVE
      CM_ASM_END);

PRODUCT_ENTRY(cm_mve_multiply_cut, cm_mve_start_cut_product);
/* clang-format on */

/* The bias of a column less weights of so many chunks that are multiplied by the padding; `weights` advance.
 */
/* clang-format off */
#define SUM_CHUNKS \
    "dls lr, %[chunks]\n" \
    "1:\n" \
    "vldrw.32 q1, [%[weights]], #64\n" \
    MORE " %[sum0], %q[padding], q1\n" \
    "vldrw.32 q2, [%[weights], #-48]\n" \
    MORE " %[sum1], %q[padding], q2\n" \
    "vldrw.32 q1, [%[weights], #-32]\n" \
    MORE " %[sum2], %q[padding], q1\n" \
    "vldrw.32 q2, [%[weights], #-16]\n" \
    MORE " %[sum3], %q[padding], q2\n" \
    "le lr, 1b\n"
/* clang-format on */

/* Biases of blocks from `weights` on, with what the padding adds to sums. */
static void find_biases(int32_t *bias, const struct cm_cut_gemm *gemm, int32_t columns, const int8_t *weights)
{
    const int32_t depth = gemm->product.depth, part = gemm->part, left = gemm->left;
    const int8x16_t padding = vdupq_n_s8(gemm->padding);
    const int32_t chunks = (part - left) / CHUNK, missing = gemm->first > 0 ? 0 : left * COLUMNS;
    for (int32_t at = 0; at < columns; at += COLUMNS) {
        const struct block *const block = (const void *)weights;
        int32_t sum0 = block->bias[0], sum1 = block->bias[1], sum2 = block->bias[2], sum3 = block->bias[3];
        weights += (int32_t)sizeof *block + missing;
        for (int32_t parts = depth; parts > 0; parts -= part, weights += left * COLUMNS)
            __asm(SUM_CHUNKS
                  : [weights] "+r"(weights), [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2),
                    [sum3] "+Te"(sum3)
                  : [chunks] "r"(chunks), [padding] "w"(padding)
                  : "q1", "q2", "lr", "memory");
        weights -= missing;
        bias[at] = sum0, bias[at + 1] = sum1, bias[at + 2] = sum2, bias[at + 3] = sum3;
    }
}

void cm_isa_gemm_s8_cut(const struct cm_cut_gemm *gemm)
{
    struct cm_cut_gemm some = *gemm;
    struct operands operands;
    operands.gemm = &some;
    for (int32_t columns = gemm->product.columns; columns > 0; columns -= MOST_COLUMNS) {
        const int32_t count = columns < MOST_COLUMNS ? columns : MOST_COLUMNS;
        const int8_t *const weights = some.product.weights;
        some.product.columns = count;
        find_biases(operands.bias, gemm, count, weights);
        cm_mve_multiply_cut(&operands, cm_mve_multiply_cut_blocks);
        some.product.weights =
            weights + count / COLUMNS * (int32_t)sizeof(struct block) + count * gemm->product.depth;
        some.product.out += count;
    }
}
