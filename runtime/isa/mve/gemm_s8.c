/* int8 matrix product with MVE: two rows by four columns at a time.

   VMLADAVA multiplies 16 pairs and adds them to an even general register, so there are eight accumulators at
   most, which gcc spills. The inner loops are therefore assembly. */
#include "cmrt/assembly.h"
#include "shallow_product.h"

#include <stddef.h>

/* Operands of the assembly, which copies the first 96 bytes to its stack frame. */
struct tile {
    const int8_t *weights; /* r1: of the block, behind its head */
    int32_t turns;         /* r9: of the loop over four chunks */
    int32_t rewind;        /* r0: from the end of a row of lhs to the start of the next but one */
    int32_t out_step;      /* r2: from one pair of rows to the next */
    int32_t entry;         /* entry point, in bytes from the loop's start */
    int32_t odd;           /* one row is left after the pairs */
    int32_t unused[2];
    uint16_t offsets[8];     /* of the pair's outputs from `out`: both rows of a column side by side */
    uint16_t odd_offsets[8]; /* both rows of the pair are the same one */
    int16_t minimum[8], maximum[8];
    /* Not copied. */
    const int8_t *lhs[2];
    int8_t *out;
    uint32_t counter; /* pairs after the first, and in the low half the output's zero point */
};
_Static_assert(offsetof(struct tile, offsets) == 32 && offsetof(struct tile, lhs) == 96, "used in assembly");

enum { CHUNK = 16, CHUNK_CODE = 56, LOOP_END_CODE = 8, MOST_PAIRS = 0xffff, MOST_STRIDE = 0xffff - 3 };

/* clang-format off */
/* 16 depths: q0, q1 of the two rows, q2 and q3 of the columns. The first row and column are loaded; the next
   chunk's are by NEXT. */
#define MULTIPLY_CHUNK(mac, NEXT_ROW, NEXT_COLUMN) \
    mac " r0, q0, q2\n" \
    "vldrb.8 q1, [r5], #16\n" \
    mac " r8, q1, q2\n" \
    "vldrw.32 q3, [r1, #16]\n" \
    mac " r2, q0, q3\n" \
    "vldrw.32 q2, [r1, #32]\n" \
    mac " r10, q1, q3\n" \
    "vldrw.32 q3, [r1, #48]\n" \
    mac " r4, q0, q2\n" \
    mac " r6, q0, q3\n" \
    NEXT_ROW \
    mac " r12, q1, q2\n" \
    NEXT_COLUMN \
    mac " lr, q1, q3\n"
#define NEXT_ROW "vldrb.8 q0, [r3], #16\n"
#define NEXT_COLUMN "vldrw.32 q2, [r1, #64]!\n"

/* 14 instructions of four bytes. */
#define MULTIPLY(mac) MULTIPLY_CHUNK(mac, NEXT_ROW, NEXT_COLUMN)

#define MULTIPLY_FIRST \
    "vldrb.8 q0, [r3], #16\n" \
    "vldrw.32 q2, [r1]\n" \
    MULTIPLY("vmladav.s8")

/* Then r1 and r9 are those of the next tile, and the carry is clear if there is none. */
#define MULTIPLY_LAST MULTIPLY_CHUNK("vmladava.s8", "subs r11, #0x10000\n", "ldrd r1, r9, [sp]\n")

/* A function of a tile of at least two chunks. The first chunk sets the sums; the loop of four, entered so
   that its last iteration is complete, and the copies after it, up to three, add those up to the last.
   FINISH_AND_START rescales the sums and starts those of the next pair. */
#define TILE_FUNCTION(name, PREPARE, FINISH, FINISH_AND_START) \
    void name(const struct tile *tile); \
    __asm(CM_ASM_FUNCTION(name) \
          "push {r4-r11, lr}\n" \
          "vpush {d8-d15}\n" \
          "sub sp, #112\n" \
          "vldrw.32 q0, [r0]\n" \
          "vldrw.32 q1, [r0, #16]\n" \
          "vldrw.32 q2, [r0, #32]\n" \
          "vldrw.32 q3, [r0, #48]\n" \
          "vldrw.32 q4, [r0, #64]\n" \
          "vldrw.32 q5, [r0, #80]\n" \
          "vstrw.32 q0, [sp]\n" \
          "vstrw.32 q1, [sp, #16]\n" \
          "vstrw.32 q2, [sp, #32]\n" \
          "vstrw.32 q3, [sp, #48]\n" \
          "vstrw.32 q4, [sp, #64]\n" \
          "vstrw.32 q5, [sp, #80]\n" \
          "ldrd r3, r5, [r0, #96]\n" \
          "ldrd r7, r11, [r0, #104]\n" \
          "ldrd r0, r2, [sp, #12]\n" \
          "subs r7, r0\n" \
          "adr.w r1, 2f\n" \
          "add r2, r1\n" \
          "add r2, #1\n" /* Thumb */ \
          "str r2, [sp, #16]\n" \
          "ldrd r1, r9, [sp]\n" \
          "vldrw.32 q4, [r1, #-48]\n" \
          "vldrw.32 q5, [r1, #-32]\n" \
          "vldrw.32 q6, [r1, #-16]\n" \
          PREPARE \
          \
          "1:\n" \
          MULTIPLY_FIRST \
          "ldr pc, [sp, #16]\n" \
          ".p2align 2\n" \
          "2:\n" \
          MULTIPLY("vmladava.s8") \
          MULTIPLY("vmladava.s8") \
          MULTIPLY("vmladava.s8") \
          MULTIPLY("vmladava.s8") \
          "subs.w r9, r9, #1\n" \
          "bne.w 2b\n" \
          MULTIPLY("vmladava.s8") \
          MULTIPLY("vmladava.s8") \
          MULTIPLY("vmladava.s8") \
          MULTIPLY_LAST \
          "bcc.w 3f\n" \
          FINISH_AND_START \
          "ldr pc, [sp, #16]\n" \
          \
          "3:\n" \
          FINISH \
          "ldr r2, [sp, #20]\n" \
          "cbz r2, 4f\n" \
          "movs r2, #0\n" \
          "str r2, [sp, #20]\n" \
          "add r3, r0\n" \
          "mov r5, r3\n" \
          "vldrw.32 q0, [sp, #48]\n" \
          "vstrw.32 q0, [sp, #32]\n" \
          "uxth r11, r11\n" \
          "b.w 1b\n" \
          "4:\n" \
          "add sp, #112\n" \
          "vpop {d8-d15}\n" \
          "pop {r4-r11, pc}\n" \
          CM_ASM_END)

/* The first and third, then the second and fourth column of each row. */
#define JOIN_EVEN_0 "vmov q0[2], q0[0], r0, r4\n"
#define JOIN_ODD_0 "vmov q0[3], q0[1], r2, r6\n"
#define JOIN_EVEN_1 "vmov q1[2], q1[0], r8, r12\n"
#define JOIN_ODD_1 "vmov q1[3], q1[1], r10, lr\n"

/* Rewind in r0, step of the output in r2. */
#define LOAD_STEPS "ldrd r0, r2, [sp, #8]\n"

/* The sums of a row as outputs in 32 bits. */
#define ADD_BIAS(sums) "vadd.i32 " sums ", " sums ", q4\n"
#define SCALE(sums) "vqrdmulh.s32 " sums ", " sums ", q5\n"
#define SHIFT(sums) "vrshl.s32 " sums ", " sums ", q6\n"

/* x + (x >> 31) before the rounding shift takes halves away from zero: VQDMLAH by one adds the high half of
   2x, which is x >> 31. */
#define LOAD_ONE "movs r4, #1\n"
#define AWAY_FROM_ZERO(sums) "vqdmlah.s32 " sums ", " sums ", r4\n"

#define AS_IT_IS(sums) ""

/* Left shifts are at [sp, #96]; zeros among the right shifts in q6 must not affect the rounding. */
#define PREPARE_GENERAL \
    "vmov.i32 q0, #0\n" \
    "vmax.s32 q1, q6, q0\n" \
    "vmin.s32 q6, q6, q0\n" \
    "vstrw.32 q1, [sp, #96]\n"
#define SHIFT_LEFT_GENERAL(sums) \
    "vldrw.32 q2, [sp, #96]\n" \
    "vshl.s32 " sums ", " sums ", q2\n"
#define ROUND_GENERAL(sums) \
    "vand q2, " sums ", q6\n" \
    "vqdmlah.s32 " sums ", q2, r4\n"
#define CLAMP_GENERAL \
    "vldrh.16 q2, [sp, #64]\n" \
    "vldrh.16 q3, [sp, #80]\n" \
    "vmax.s16 q0, q0, q2\n" \
    "vmin.s16 q0, q0, q3\n"

#define FINISH(LOAD_ONE, SHIFT_LEFT, ROUND, CLAMP) \
    JOIN_EVEN_0 JOIN_ODD_0 JOIN_EVEN_1 JOIN_ODD_1 \
    LOAD_STEPS \
    LOAD_ONE \
    ADD_BIAS("q0") SHIFT_LEFT("q0") SCALE("q0") ROUND("q0") SHIFT("q0") \
    ADD_BIAS("q1") SHIFT_LEFT("q1") SCALE("q1") \
    "vqmovnb.s32 q0, q0\n" \
    ROUND("q1") SHIFT("q1") \
    "vqmovnt.s32 q0, q1\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "add r7, r2\n" \
    "vqadd.s16 q0, q0, r11\n" \
    CLAMP \
    "vqmovnb.s16 q0, q0\n" \
    "vstrb.16 q0, [r7, q1]\n"

/* Products alternate with what other pipes execute. */
#define FINISH_AND_START(LOAD_ONE, ROUND) \
    JOIN_EVEN_0 JOIN_ODD_0 \
    LOAD_STEPS \
    JOIN_EVEN_1 \
    ADD_BIAS("q0") \
    "add r7, r2\n" \
    LOAD_ONE \
    SCALE("q0") ROUND("q0") \
    "add r3, r0\n" \
    "add r5, r0\n" \
    SHIFT("q0") \
    JOIN_ODD_1 \
    ADD_BIAS("q1") SCALE("q1") ROUND("q1") \
    "vldrw.32 q3, [r1]\n" \
    "vldrb.8 q2, [r3], #16\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vmladav.s8 r0, q2, q3\n" \
    "vldrb.8 q7, [r5], #16\n" \
    SHIFT("q1") \
    "vmladav.s8 r8, q7, q3\n" \
    "vldrw.32 q3, [r1, #16]\n" \
    "vmladav.s8 r2, q2, q3\n" \
    "vqmovnt.s32 q0, q1\n" \
    "vmladav.s8 r10, q7, q3\n" \
    "vldrw.32 q3, [r1, #32]\n" \
    "vqadd.s16 q0, q0, r11\n" \
    "vmladav.s8 r12, q7, q3\n" \
    "vqmovnb.s16 q0, q0\n" \
    "vldrh.16 q1, [sp, #32]\n" \
    "vmladav.s8 r4, q2, q3\n" \
    "vldrw.32 q3, [r1, #48]\n" \
    "vmladav.s8 r6, q2, q3\n" \
    NEXT_COLUMN \
    "vmladav.s8 lr, q7, q3\n" \
    "vstrb.16 q0, [r7, q1]\n" \
    NEXT_ROW

#define FINISH_GENERAL FINISH(LOAD_ONE, SHIFT_LEFT_GENERAL, ROUND_GENERAL, CLAMP_GENERAL)

/* One statement, as compilers may reorder several; ISO C asks for no more than 4095 characters. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
TILE_FUNCTION(cm_mve_multiply_half_up, "", FINISH("", AS_IT_IS, AS_IT_IS, ""), FINISH_AND_START("", AS_IT_IS));
TILE_FUNCTION(cm_mve_multiply_right, "", FINISH(LOAD_ONE, AS_IT_IS, AWAY_FROM_ZERO, ""),
              FINISH_AND_START(LOAD_ONE, AWAY_FROM_ZERO));
TILE_FUNCTION(cm_mve_multiply_general, PREPARE_GENERAL, FINISH_GENERAL,
              FINISH_GENERAL "add r3, r0\n" "add r5, r0\n" MULTIPLY_FIRST);
/* clang-format on */

typedef void tile_function(const struct tile *tile);

/* Offsets of a pair's outputs if `columns` columns are left: the surplus ones of the last block overwrite its
   last one. */
static void set_offsets(uint16_t offsets[8], int32_t columns, int32_t stride)
{
    for (int32_t i = 0; i < 4; ++i) {
        int32_t column = i < columns ? i : columns - 1;
        offsets[2 * i] = (uint16_t)column;
        offsets[2 * i + 1] = (uint16_t)(column + stride);
    }
}

/* Where the chunks between the first and the last begin: in the loop, or after it. */
static void set_depth(struct tile *tile, int32_t between)
{
    if (between <= 3) {
        tile->turns = 0;
        tile->entry = (4 + 3 - between) * CHUNK_CODE + LOOP_END_CODE;
    } else {
        tile->turns = between / 4;
        tile->entry = (tile->turns * 4 - (between - 3)) * CHUNK_CODE;
    }
}

/* At most MOST_PAIRS pairs of rows, for all columns. */
static void multiply_deep(const struct cm_gemm *gemm, tile_function *multiply, int32_t first, int32_t rows)
{
    struct tile tile;
    int32_t chunks = (gemm->depth + CHUNK - 1) / CHUNK;
    int32_t block_bytes = (int32_t)sizeof(struct block) + chunks * 4 * CHUNK;
    int32_t is_single = rows == 1;
    for (int32_t i = 0; i < 8; ++i) {
        tile.minimum[i] = (int16_t)gemm->output.minimum;
        tile.maximum[i] = (int16_t)gemm->output.maximum;
    }
    tile.odd = rows & !is_single;
    tile.counter = is_single ? 0 : (uint32_t)(rows / 2 - 1) << 16;
    tile.counter |= (uint16_t)gemm->output.zero_point;
    tile.rewind = 2 * gemm->lhs_stride - chunks * CHUNK;
    tile.out_step = 2 * gemm->out_stride;
    tile.lhs[0] = gemm->lhs + first * gemm->lhs_stride;
    tile.lhs[1] = tile.lhs[0] + (is_single ? 0 : gemm->lhs_stride);
    tile.out = gemm->out + first * gemm->out_stride;
    tile.weights = (const int8_t *)gemm->weights + sizeof(struct block);
    set_depth(&tile, chunks - 2);
    for (int32_t columns = gemm->columns; columns > 0; columns -= 4) {
        if (columns == gemm->columns || columns < 4) {
            set_offsets(tile.offsets, columns, is_single ? 0 : gemm->out_stride);
            set_offsets(tile.odd_offsets, columns, 0);
        }
        multiply(&tile);
        tile.weights += block_bytes;
        tile.out += 4;
    }
}

/* Pairs of rows, of which the second row begins `lhs_step` and `out_step` after the first. */
static void multiply_pairs(const struct cm_gemm *gemm, shallow_function *multiply, int32_t first,
                           int32_t pairs, int32_t lhs_step, int32_t out_step)
{
    struct shallow shallow;
    const struct block *block = gemm->weights;
    shallow.one = 1;
    shallow.counter = (uint32_t)pairs << 16 | (uint16_t)gemm->output.zero_point;
    shallow.lhs_step = 2 * lhs_step;
    shallow.out_step = 2 * out_step;
    shallow.lhs[0] = gemm->lhs + first * gemm->lhs_stride;
    shallow.lhs[1] = shallow.lhs[0] + lhs_step;
    shallow.out = gemm->out + first * gemm->out_stride;
    for (int32_t columns = gemm->columns; columns > 0; columns -= 4) {
        if (columns == gemm->columns || columns < 4)
            set_offsets(shallow.offsets, columns, out_step);
        shallow.block = *block;
        shallow.weights = (const int8_t *)(block + 1);
        multiply(&shallow, &gemm->output);
        block = (const struct block *)(const void *)(shallow.weights + 4 * CHUNK);
        shallow.out += 4;
    }
}

static void multiply_shallow(const struct cm_gemm *gemm, shallow_function *multiply, int32_t first,
                             int32_t rows)
{
    if (rows >= 2)
        multiply_pairs(gemm, multiply, first, rows / 2, gemm->lhs_stride, gemm->out_stride);
    if (rows & 1)
        multiply_pairs(gemm, multiply, first + rows - 1, 1, 0, 0);
}

static void multiply(const struct cm_gemm *gemm, tile_function *deep, shallow_function *shallow)
{
    /* The distance between a pair's outputs has 16 bits. */
    int32_t most = gemm->out_stride <= MOST_STRIDE ? 2 * MOST_PAIRS : 1;
    for (int32_t first = 0; first < gemm->rows; first += most) {
        int32_t left = gemm->rows - first;
        int32_t rows = left < most ? left : most;
        if (gemm->depth <= CHUNK)
            multiply_shallow(gemm, shallow, first, rows);
        else
            multiply_deep(gemm, deep, first, rows);
    }
}

void cm_isa_gemm_s8(const struct cm_gemm *gemm)
{
    if (gemm->output.rounding == CM_ROUND_RIGHT)
        multiply(gemm, cm_mve_multiply_right, cm_mve_multiply_shallow_right);
    else
        multiply(gemm, cm_mve_multiply_half_up, cm_mve_multiply_shallow_half_up);
}

void cm_isa_gemm_s8_general(const struct cm_gemm *gemm)
{
    multiply(gemm, cm_mve_multiply_general, multiply_shallow_general);
}
