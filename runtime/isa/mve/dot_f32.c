/* Sums of products with MVE: the lanes of a vector are outputs, so that each sum keeps its order. */
#include "cmrt/dot.h"
#include "cmrt/flush.h"

#define ROWS 4

/* Addresses of four rows. */
struct rows {
    const uint8_t *factors[ROWS], *addend[ROWS];
    uint8_t *out[ROWS];
};

#define FIELD(name) [name] "i"(offsetof(struct cm_dot, name))

/* The start of the loop over a block's taps, what follows it, and the results. */
#define BEGIN_BLOCK                                                                                          \
    "1:\n"                                                                                                   \
    "ldrd %[tap], lr, [%[dot], %[taps]]\n"                                                                   \
    "wls lr, lr, 3f\n"                                                                                       \
    "2:\n"                                                                                                   \
    "ldrd %[a], %[b], [%[tap]], #8\n"                                                                        \
    "add %[b], %[lane]\n"
#define END_BLOCK                                                                                            \
    "add %[lane], %[b]\n"                                                                                    \
    "subs %[blocks], #1\n"                                                                                   \
    "bne 1b\n"                                                                                               \
    "ldrd %[a], %[b], [%[dot], %[alpha]]\n"
#define ADD(sum, addend, offsets)                                                                            \
    "vldrw.u32 q6, [" addend ", " offsets "]\n"                                                              \
    "vmul.f32 q6, q6, %[b]\n"                                                                                \
    "vadd.f32 " sum ", " sum ", q6\n"

/* Four rows by the four lanes whose offsets start at `lanes`. */
static inline void compute_tile(const struct cm_dot *dot, const struct rows *rows, const int32_t *lanes)
{
    const struct cm_tap *tap;
    const uint8_t *lane = dot->lane;
    int32_t blocks = dot->blocks, a, b, c;
    __asm volatile(
        "ldm %[rows], {r4, r5, r6, r8}\n"
        "vldrw.u32 q4, [%[lanes]]\n"
        "vmov.i32 q0, #0\n"
        "vmov.i32 q1, #0\n"
        "vmov.i32 q2, #0\n"
        "vmov.i32 q3, #0\n" BEGIN_BLOCK "ldr %[c], [r4, %[a]]\n"
        "vldrw.u32 q5, [%[b], q4]\n"
        "ldr %[b], [r5, %[a]]\n"
        "vmul.f32 q6, q5, %[c]\n"
        "ldr %[c], [r6, %[a]]\n"
        "vmul.f32 q7, q5, %[b]\n"
        "ldr %[a], [r8, %[a]]\n"
        "vadd.f32 q0, q0, q6\n"
        "vmul.f32 q6, q5, %[c]\n"
        "vadd.f32 q1, q1, q7\n"
        "vmul.f32 q7, q5, %[a]\n"
        "vadd.f32 q2, q2, q6\n"
        "vadd.f32 q3, q3, q7\n"
        "le lr, 2b\n"
        "3:\n"
        "ldrd %[a], %[b], [%[dot], %[row_block]]\n"
        "add r4, %[a]\n"
        "add r5, %[a]\n"
        "add r6, %[a]\n"
        "add r8, %[a]\n" END_BLOCK "vmul.f32 q0, q0, %[a]\n"
        "add %[c], %[rows], %[row_addend]\n"
        "vmul.f32 q1, q1, %[a]\n"
        "ldm %[c], {r4, r5, r6, r8}\n"
        "vmul.f32 q2, q2, %[a]\n"
        "vmul.f32 q3, q3, %[a]\n"
        "cbz r4, 4f\n"
        "vldrw.u32 q4, [%[lanes], %[lane_addend]]\n" ADD("q0", "r4", "q4") ADD("q1", "r5", "q4")
            ADD("q2", "r6", "q4") ADD("q3", "r8", "q4") /* no addend: */
        "4:\n"
        "add %[c], %[rows], %[row_out]\n"
        "vldrw.u32 q4, [%[lanes], %[lane_out]]\n"
        "ldm %[c], {r4, r5, r6, r8}\n"
        "vstrw.32 q0, [r4, q4]\n"
        "vstrw.32 q1, [r5, q4]\n"
        "vstrw.32 q2, [r6, q4]\n"
        "vstrw.32 q3, [r8, q4]\n"
        : [tap] "=&r"(tap), [lane] "+r"(lane), [blocks] "+r"(blocks), [a] "=&r"(a), [b] "=&r"(b), [c] "=&r"(c)
        : [dot] "r"(dot), [rows] "r"(rows), [lanes] "r"(lanes), FIELD(taps), FIELD(row_block), FIELD(alpha),
          [row_addend] "i"(offsetof(struct rows, addend)), [row_out] "i"(offsetof(struct rows, out)),
          [lane_addend] "i"(offsetof(struct cm_dot, addend_offsets) - offsetof(struct cm_dot, lane_offsets)),
          [lane_out] "i"(offsetof(struct cm_dot, out_offsets) - offsetof(struct cm_dot, lane_offsets))
        : "r4", "r5", "r6", "r8", "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}

/* One row by all lanes. */
static inline void compute_row(const struct cm_dot *dot, const uint8_t *row, const uint8_t *lane,
                               const uint8_t *addend, uint8_t *out)
{
    const struct cm_tap *tap;
    int32_t blocks = dot->blocks, a, b;
    __asm volatile("vldrw.u32 q3, [%[dot], %[lane_offsets]]\n"
                   "vldrw.u32 q4, [%[dot], %[lane_offsets] + 16]\n"
                   "vldrw.u32 q5, [%[dot], %[lane_offsets] + 32]\n"
                   "vmov.i32 q0, #0\n"
                   "vmov.i32 q1, #0\n"
                   "vmov.i32 q2, #0\n" BEGIN_BLOCK "ldr %[a], [%[row], %[a]]\n"
                   "vldrw.u32 q6, [%[b], q3]\n"
                   "vmul.f32 q6, q6, %[a]\n"
                   "vldrw.u32 q7, [%[b], q4]\n"
                   "vadd.f32 q0, q0, q6\n"
                   "vmul.f32 q7, q7, %[a]\n"
                   "vldrw.u32 q6, [%[b], q5]\n"
                   "vadd.f32 q1, q1, q7\n"
                   "vmul.f32 q6, q6, %[a]\n"
                   "vadd.f32 q2, q2, q6\n"
                   "le lr, 2b\n"
                   "3:\n"
                   "ldrd %[a], %[b], [%[dot], %[row_block]]\n"
                   "add %[row], %[a]\n" END_BLOCK "vmul.f32 q0, q0, %[a]\n"
                   "vmul.f32 q1, q1, %[a]\n"
                   "vmul.f32 q2, q2, %[a]\n"
                   "cmp %[addend], #0\n"
                   "beq 4f\n"
                   "vldrw.u32 q3, [%[dot], %[addend_offsets]]\n"
                   "vldrw.u32 q4, [%[dot], %[addend_offsets] + 16]\n"
                   "vldrw.u32 q5, [%[dot], %[addend_offsets] + 32]\n" ADD("q0", "%[addend]", "q3")
                       ADD("q1", "%[addend]", "q4")
                           ADD("q2", "%[addend]", "q5") "4:\n"
                                                        "vldrw.u32 q3, [%[dot], %[out_offsets]]\n"
                                                        "vldrw.u32 q4, [%[dot], %[out_offsets] + 16]\n"
                                                        "vldrw.u32 q5, [%[dot], %[out_offsets] + 32]\n"
                                                        "vstrw.32 q0, [%[out], q3]\n"
                                                        "vstrw.32 q1, [%[out], q4]\n"
                                                        "vstrw.32 q2, [%[out], q5]\n"
                   : [tap] "=&r"(tap), [row] "+r"(row), [lane] "+r"(lane), [blocks] "+r"(blocks),
                     [a] "=&r"(a), [b] "=&r"(b)
                   : [dot] "r"(dot), [addend] "r"(addend), [out] "r"(out), FIELD(taps), FIELD(row_block),
                     FIELD(alpha), FIELD(lane_offsets), FIELD(addend_offsets), FIELD(out_offsets)
                   : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "lr", "cc", "memory");
}

/* One row by four lanes. */
static inline void compute_few(const struct cm_dot *dot, const uint8_t *row, const uint8_t *lane,
                               const uint8_t *addend, uint8_t *out)
{
    const struct cm_tap *tap;
    int32_t blocks = dot->blocks, a, b;
    __asm volatile("vldrw.u32 q3, [%[dot], %[lane_offsets]]\n"
                   "vmov.i32 q0, #0\n" BEGIN_BLOCK "ldr %[a], [%[row], %[a]]\n"
                   "vldrw.u32 q6, [%[b], q3]\n"
                   "vmul.f32 q6, q6, %[a]\n"
                   "vadd.f32 q0, q0, q6\n"
                   "le lr, 2b\n"
                   "3:\n"
                   "ldrd %[a], %[b], [%[dot], %[row_block]]\n"
                   "add %[row], %[a]\n" END_BLOCK "vmul.f32 q0, q0, %[a]\n"
                   "cmp %[addend], #0\n"
                   "beq 4f\n"
                   "vldrw.u32 q3, [%[dot], %[addend_offsets]]\n" ADD(
                       "q0", "%[addend]", "q3") "4:\n"
                                                "vldrw.u32 q3, [%[dot], %[out_offsets]]\n"
                                                "vstrw.32 q0, [%[out], q3]\n"
                   : [tap] "=&r"(tap), [row] "+r"(row), [lane] "+r"(lane), [blocks] "+r"(blocks),
                     [a] "=&r"(a), [b] "=&r"(b)
                   : [dot] "r"(dot), [addend] "r"(addend), [out] "r"(out), FIELD(taps), FIELD(row_block),
                     FIELD(alpha), FIELD(lane_offsets), FIELD(addend_offsets), FIELD(out_offsets)
                   : "q0", "q3", "q6", "lr", "cc", "memory");
}

/* Rows after `count` repeat the last one. */
static void compute_tiles(const struct cm_dot *dot, int32_t row, int32_t count)
{
    struct rows rows;
    for (int32_t i = 0; i < ROWS; ++i) {
        int32_t at = row + (i < count ? i : count - 1);
        rows.factors[i] = dot->row + at * dot->row_step;
        rows.addend[i] = dot->addend == NULL ? NULL : dot->addend + at * dot->addend_step;
        rows.out[i] = dot->out + at * dot->out_step;
    }
    for (int32_t lane = 0; lane < dot->lane_count; lane += 4)
        compute_tile(dot, &rows, dot->lane_offsets + lane);
}

static void compute(const struct cm_dot *dot)
{
    int32_t row = 0;
    for (int32_t left = dot->row_count; left > 0; left = dot->row_count - row) {
        /* Three rows by up to eight lanes take fewer instructions as a tile. */
        if (dot->row_lane == 0 && (left >= ROWS || (left == 3 && dot->lane_count <= 8))) {
            compute_tiles(dot, row, left);
            row += ROWS;
            continue;
        }
        const uint8_t *factors = dot->row + row * dot->row_step, *lane = dot->lane + row * dot->row_lane;
        const uint8_t *addend = dot->addend == NULL ? NULL : dot->addend + row * dot->addend_step;
        if (dot->lane_count > 4)
            compute_row(dot, factors, lane, addend, dot->out + row * dot->out_step);
        else
            compute_few(dot, factors, lane, addend, dot->out + row * dot->out_step);
        ++row;
    }
}

void cm_isa_dot_f32(const struct cm_dot *dot)
{
    cm_start_watch();
    compute(dot);
    if (!cm_has_flushed())
        return;
    for (int32_t row = 0; row < dot->row_count; ++row)
        for (int32_t lane = 0; lane < dot->lane_count; ++lane)
            cm_dot_one(dot, row, lane);
}
