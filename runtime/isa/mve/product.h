/* Products of pairs of rows with blocks of four columns: what their loops share. VMLADAVA multiplies 16
   pairs of int8, or 8 of int16, and adds them to an even general register, so there are eight sums at most,
   which gcc spills. The loops are therefore assembly, each of all rows and columns. */
#ifndef PRODUCT_H
#define PRODUCT_H

#include "cmrt/assembly.h"
#include "cmrt/isa.h"

#include <stddef.h>
#include <stdint.h>

enum { CHUNK = 16 /* bytes of a row */, COLUMNS = 4 };

/* Four columns: their weights follow, a chunk of each in turn; the last block repeats the last column. */
struct block {
    int32_t bias[4], multiplier[4], shift[4];
};

/* Operands of the assembly, in its stack frame. */
struct product {
    int32_t between;       /* r9: chunks between the first and the last */
    const int8_t *weights; /* r1: of the block, behind its head */
    int32_t resume;        /* where the last pair of rows goes on, once it is known */
    int32_t lhs_back;      /* if a row is left after the pairs, it makes a pair with the one before it: */
    int32_t rewind;        /* r0: from the end of a row of lhs to the start of the next but one */
    int32_t out_step;      /* r2: from one pair of rows to the next */
    int32_t out_back;      /* so far back, as lhs_back; that is else 0 */
    const int8_t *last;    /* weights of the last block */
    uint16_t offsets[8];   /* of the pair's outputs from `out`: both rows of a column side by side */
    int32_t block_bytes;
    uint32_t counter;     /* r11: pairs after the first, and in the low half the output's zero point */
    int8_t *out;          /* r7, less out_step */
    int32_t pending;      /* lhs_back until that pair is next */
    const int8_t *lhs[2]; /* r3, r5, less rewind */
    int32_t minimum, maximum;
    uint16_t last_offsets[8]; /* of the last block */
    int32_t out_rewind;       /* from a block's last outputs to what r7 is for the next block */
};
_Static_assert(offsetof(struct product, offsets) == 32 && offsetof(struct product, lhs) == 64 &&
                   offsetof(struct product, out_rewind) == 96,
               "used in assembly");

/* For a range of depths, a rounding and a type of rows; PRODUCT_ENTRY goes there. */
typedef void product_loop(void);

/* The start of products of int8 rows. Called by assembly, which compilers of whole programs do not see. */
__attribute__((used)) void cm_mve_start_product(struct product *product, const struct cm_gemm *gemm);

/* As many rows at once as loops can count, or one if they are too far apart. */
void cm_mve_multiply_parts(const struct cm_gemm *gemm,
                           void (*multiply)(const struct cm_gemm *, product_loop *), product_loop *loop);

/* For blocks whose weights have half as many bytes as those of int8 rows. */
static inline void halve_weights(struct product *product, const struct cm_gemm *gemm)
{
    const uint32_t blocks = ((uint32_t)gemm->columns - 1) / COLUMNS;
    product->block_bytes = (product->block_bytes + (int32_t)sizeof(struct block)) / 2;
    product->last = product->weights + (int32_t)blocks * product->block_bytes;
}

/* clang-format off */
#define LEAVE \
    "add sp, #148\n" \
    "vpop {d8-d15}\n" \
    "pop {r4-r11, pc}\n"

#define START_OF_ROWS \
    "ldr r0, [sp, #16]\n" \
    "ldrd r3, r5, [sp, #64]\n" \
    "add r3, r0\n" \
    "add r5, r0\n"

/* The first and third, then the second and fourth column of each row. */
#define JOIN_EVEN_0 "vmov q0[2], q0[0], r0, r4\n"
#define JOIN_ODD_0 "vmov q0[3], q0[1], r2, r6\n"
#define JOIN_EVEN_1 "vmov q1[2], q1[0], r8, r12\n"
#define JOIN_ODD_1 "vmov q1[3], q1[1], r10, lr\n"

/* Rewind in r0, step of the output in r2. */
#define LOAD_STEPS "ldrd r0, r2, [sp, #16]\n"

/* The sums of a row as outputs in 32 bits: q4 to q6 are the block's head. */
#define ADD_BIAS(sums) "vadd.i32 " sums ", " sums ", q4\n"
#define SHIFT(sums) "vrshl.s32 " sums ", " sums ", q6\n"

/* A function of a product and a loop, to which it goes after `start`, of a struct product and the product. */
#define PRODUCT_ENTRY(name, start) \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "sub sp, #148\n" \
          "mov r4, r1\n" \
          "mov r1, r0\n" \
          "mov r0, sp\n" \
          "bl " #start "\n" \
          "ldr r7, [sp, #56]\n" \
          "ldr r11, [sp, #52]\n" \
          START_OF_ROWS \
          "bx r4\n" \
          CM_ASM_END)

/* ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
/* clang-format on */

#endif
