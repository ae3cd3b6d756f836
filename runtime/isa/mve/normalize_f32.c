/* Eight at a time with MVE, which are stored unless a subnormal number was flushed: then plain C computes
   them. */
#include "cmrt/flush.h"
#include "cmrt/normalization.h"

#define BLOCK 8

/* A parameter that repeats fills a block. */
static const float *repeated(const float *x, float *block)
{
    for (int32_t i = 0; i < BLOCK; ++i)
        block[i] = *x;
    return block;
}

static __attribute__((noinline)) void run_plainly(const struct cm_normalized *by, const float *in, float *out,
                                                  int32_t count)
{
    cm_normalize_loop(*by, in, out, count);
}

void cm_isa_normalize_f32(const struct cm_normalized *given, const float *in, float *out, int32_t count)
{
    struct cm_normalized by = *given;
    float weight[BLOCK], bias[BLOCK];
    int32_t blocks = count / BLOCK, status;
    if (blocks > 0 && by.weight_step == 0)
        by.weight = repeated(by.weight, weight);
    if (blocks > 0 && by.bias_step == 0)
        by.bias = repeated(by.bias, bias);
    while (blocks > 0) {
        cm_start_watch();
        __asm volatile("1:\n"
                       "vldrw.u32 q0, [%[in]]\n"
                       "vsub.f32 q0, q0, %[mean]\n"
                       "vldrw.u32 q1, [%[in], #16]\n"
                       "vsub.f32 q1, q1, %[mean]\n"
                       "vldrw.u32 q2, [%[weight]]\n"
                       "vmul.f32 q0, q0, %[inverse]\n"
                       "vldrw.u32 q3, [%[weight], #16]\n"
                       "vmul.f32 q1, q1, %[inverse]\n"
                       "vldrw.u32 q4, [%[bias]]\n"
                       "vmul.f32 q0, q0, q2\n"
                       "vldrw.u32 q5, [%[bias], #16]\n"
                       "vmul.f32 q1, q1, q3\n"
                       "vadd.f32 q0, q0, q4\n"
                       "vadd.f32 q1, q1, q5\n"
                       "vmrs %[status], fpscr\n"
                       "tst %[status], %[flushed]\n"
                       "bne 2f\n"
                       "add %[in], #32\n"
                       "vstrw.32 q0, [%[out]], #16\n"
                       "add %[weight], %[weight], %[weight_step], lsl #5\n"
                       "vstrw.32 q1, [%[out]], #16\n"
                       "add %[bias], %[bias], %[bias_step], lsl #5\n"
                       "subs %[blocks], #1\n"
                       "bne 1b\n"
                       "2:\n"
                       : [in] "+r"(in), [out] "+r"(out), [weight] "+r"(by.weight), [bias] "+r"(by.bias),
                         [blocks] "+r"(blocks), [status] "=&r"(status)
                       : [mean] "r"(by.mean), [inverse] "r"(by.inverse), [weight_step] "r"(by.weight_step),
                         [bias_step] "r"(by.bias_step), [flushed] "i"(CM_FPSCR_FLUSHED)
                       : "q0", "q1", "q2", "q3", "q4", "q5", "cc", "memory");
        if (blocks > 0) {
            run_plainly(&by, in, out, BLOCK);
            in += BLOCK;
            out += BLOCK;
            by.weight += by.weight_step * BLOCK;
            by.bias += by.bias_step * BLOCK;
            --blocks;
        }
    }
    run_plainly(&by, in, out, count % BLOCK);
}
