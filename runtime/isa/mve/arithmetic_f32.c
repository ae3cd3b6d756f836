/* Sums, differences and products with MVE, sixteen at a time, which are stored unless a subnormal number was
   flushed: then plain C computes them. */
#include "cmrt/elementwise_f32.h"
#include "cmrt/flush.h"

#define BLOCK 16

struct operands {
    struct cm_floats at;
    int32_t blocks;
};

/* Until all blocks are done, or the first of those left is flushed. */
#define RUN(name, operation)                                                                                 \
    static void name(struct operands *operands)                                                              \
    {                                                                                                        \
        struct cm_floats *at = &operands->at;                                                                \
        int32_t lhs_bytes = at->lhs_step * BLOCK * 4, rhs_bytes = at->rhs_step * BLOCK * 4, status;          \
        __asm volatile(                                                                                      \
            "1:\n"                                                                                           \
            "vldrw.u32 q0, [%[lhs]]\n"                                                                       \
            "vldrw.u32 q4, [%[rhs]]\n"                                                                       \
            "vldrw.u32 q1, [%[lhs], #16]\n" operation " q0, q0, q4\n"                                        \
            "vldrw.u32 q5, [%[rhs], #16]\n"                                                                  \
            "vldrw.u32 q2, [%[lhs], #32]\n" operation " q1, q1, q5\n"                                        \
            "vldrw.u32 q6, [%[rhs], #32]\n"                                                                  \
            "vldrw.u32 q3, [%[lhs], #48]\n" operation " q2, q2, q6\n"                                        \
            "vldrw.u32 q7, [%[rhs], #48]\n" operation " q3, q3, q7\n"                                        \
            "vmrs %[status], fpscr\n"                                                                        \
            "tst %[status], %[flushed]\n"                                                                    \
            "bne 2f\n"                                                                                       \
            "add %[lhs], %[lhs_bytes]\n"                                                                     \
            "vstrw.32 q0, [%[out]], #16\n"                                                                   \
            "add %[rhs], %[rhs_bytes]\n"                                                                     \
            "vstrw.32 q1, [%[out]], #16\n"                                                                   \
            "vstrw.32 q2, [%[out]], #16\n"                                                                   \
            "vstrw.32 q3, [%[out]], #16\n"                                                                   \
            "subs %[blocks], #1\n"                                                                           \
            "bne 1b\n"                                                                                       \
            "2:\n"                                                                                           \
            : [lhs] "+r"(at->lhs), [rhs] "+r"(at->rhs), [out] "+r"(at->out),                                 \
              [blocks] "+r"(operands->blocks), [status] "=&r"(status)                                        \
            : [lhs_bytes] "r"(lhs_bytes), [rhs_bytes] "r"(rhs_bytes), [flushed] "i"(CM_FPSCR_FLUSHED)        \
            : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");                               \
    }

RUN(add, "vadd.f32")
RUN(subtract, "vsub.f32")
RUN(multiply, "vmul.f32")

static void run(enum cm_arithmetic function, struct operands *operands)
{
    cm_start_watch();
    if (function == CM_ADD)
        add(operands);
    else if (function == CM_SUB)
        subtract(operands);
    else
        multiply(operands);
}

/* An operand that repeats one element fills a block with it. */
static const float *repeated(const float *x, float *block)
{
    for (int32_t i = 0; i < BLOCK; ++i)
        block[i] = *x;
    return block;
}

static __attribute__((noinline)) void run_plainly(enum cm_arithmetic function, struct cm_floats floats,
                                                  int32_t count)
{
    cm_arithmetic_loop(function, floats, count);
}

void cm_isa_arithmetic_f32(enum cm_arithmetic function, struct cm_floats floats, int32_t count)
{
    float lhs[BLOCK], rhs[BLOCK];
    struct operands operands = {floats, function <= CM_MUL ? count / BLOCK : 0};
    struct cm_floats *at = &operands.at;
    count -= operands.blocks * BLOCK;
    if (operands.blocks > 0 && at->lhs_step == 0)
        at->lhs = repeated(at->lhs, lhs);
    if (operands.blocks > 0 && at->rhs_step == 0)
        at->rhs = repeated(at->rhs, rhs);
    while (operands.blocks > 0) {
        run(function, &operands);
        if (operands.blocks > 0) {
            run_plainly(function, *at, BLOCK);
            at->lhs += at->lhs_step * BLOCK;
            at->rhs += at->rhs_step * BLOCK;
            at->out += BLOCK;
            --operands.blocks;
        }
    }
    run_plainly(function, *at, count);
}
