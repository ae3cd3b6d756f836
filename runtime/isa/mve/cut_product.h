/* Matrix products with MVE of windows whose first or last rows lie in the padding: what their loops share.
   The weights of these rows are skipped.

   A type of rows has the macros of deep_loop.h. */
#ifndef CUT_PRODUCT_H
#define CUT_PRODUCT_H

#include "deep_loop.h"

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

/* A product of what rows have, for cm_mve_start_product. */
static inline struct cm_gemm without_padding(const struct cm_cut_gemm *gemm)
{
    struct cm_gemm left = gemm->product;
    left.depth = left.depth / gemm->part * gemm->left;
    return left;
}

/* What differs from the product of what rows have.

   weights: bytes of a block's for each byte of a row. */
static inline void skip_padding(struct cut_product *cut, const struct cm_cut_gemm *gemm, int32_t weights)
{
    struct product *const product = &cut->product;
    const int32_t depth = gemm->product.depth, chunks = gemm->left / CHUNK;
    const int32_t blocks = (gemm->product.columns - 1) / COLUMNS;
    product->block_bytes = (int32_t)sizeof(struct block) + depth * weights;
    cut->from_multiply = gemm->first * weights;
    product->weights += cut->from_multiply;
    product->last = product->weights + blocks * product->block_bytes;
    product->counter = (product->counter & 0xffff0000) | (uint32_t)((gemm->part - gemm->left) * weights);
    uint32_t turns = 0, bit = UINT32_C(1) << 31;
    for (int32_t done = 2; done < depth / gemm->part * chunks; done += 2, bit >>= 2)
        turns |= done % chunks == 0 ? bit >> 1 : 0;
    product->between = (int32_t)(turns | bit);
    cut->zero_point = gemm->product.output.zero_point;
}

/* clang-format off */
#define CUT_ZERO_POINT "ldr r2, [sp, #112]\n"

/* The biases of a block are not those of its head. */
#define LOAD_CUT_BIAS \
    "ldr r9, [sp, #116]\n" \
    "vldrw.32 q4, [r9], #16\n" \
    "str r9, [sp, #116]\n"

/* For pairs of rows and blocks of four columns. Behind the last pair of a block FINISH begins the next one.
   Greater is one within a block, equal the last one. LOAD_BIAS may change r9. */
#define CUT_LOOP(name, FINISH, LOAD_BIAS) \
    product_loop name; \
    __asm(CM_ASM_FUNCTION(name) \
          "ldrd r9, r1, [sp]\n" \
          NEXT_ROW \
          FIRST_COLUMN \
          MULTIPLY(FIRST, "") \
          "b.w 6f\n" \
          \
          ".p2align 2\n" \
          "1:\n" \
          MULTIPLY_LAST \
          "bcc.w 4f\n" \
          "2:\n" \
          FINISH \
          "bls.w 5f\n" \
          "3:\n" \
          MULTIPLY(MORE, "lsls.w r9, r9, #2\n it cs\n uxtahcs r1, r1, r11\n") \
          MULTIPLY(MORE, "") \
          "bmi.w 1b\n" \
          "le 3b\n" \
          \
          "4:\n" \
          "ldrd r3, r5, [sp, #64]\n" \
          "ldr r9, [sp, #28]\n" \
          "cmp r1, r9\n" \
          "ldr r9, [sp, #48]\n" \
          "it cc\n" \
          "addcc r1, r9\n" \
          "str r1, [sp, #4]\n" \
          FIRST_COLUMN \
          "b.w 2b\n" \
          "5:\n" \
          "beq.w 7f\n" \
          "ldr r9, [sp, #96]\n" \
          "add r7, r9\n" \
          "6:\n" \
          "ldr r9, [sp, #120]\n" \
          "sub r1, r9\n" \
          LOAD_HEAD \
          "add r1, r9\n" \
          LOAD_BIAS \
          "ldr r11, [sp, #52]\n" \
          "ldr r9, [sp]\n" \
          "b.w 3b\n" \
          "7:\n" \
          LEAVE \
          CM_ASM_END)
/* clang-format on */

#endif
