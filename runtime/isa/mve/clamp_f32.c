/* Sixteen at a time, which are stored unless a subnormal number was compared as zero: then plain C compares
   them. */
#include "cmrt/elementwise_f32.h"
#include "cmrt/flush.h"

#define BLOCK 16

#define CLAMP(x, result)                                                                                     \
    "vmov " result ", " x "\n"                                                                               \
    "vcmp.f32 gt, " x ", %[high]\n"                                                                          \
    "vpst\n"                                                                                                 \
    "vdupt.32 " result ", %[high]\n"                                                                         \
    "vneg.f32 " x ", " x "\n" /* "less" would hold for a NaN */                                              \
    "vcmp.f32 gt, " x ", %[minus_low]\n"                                                                     \
    "vpst\n"                                                                                                 \
    "vdupt.32 " result ", %[low]\n"

void cm_isa_clamp_f32(float low, float high, const float *in, float *out, int32_t count)
{
    int32_t blocks = count / BLOCK, status;
    while (blocks > 0) {
        cm_start_watch();
        __asm volatile(
            "1:\n"
            "vldrw.u32 q0, [%[in]]\n"
            "vldrw.u32 q1, [%[in], #16]\n"
            "vldrw.u32 q2, [%[in], #32]\n"
            "vldrw.u32 q3, [%[in], #48]\n" CLAMP("q0", "q4") CLAMP("q1", "q5") CLAMP("q2", "q6")
                CLAMP("q3", "q7") "vmrs %[status], fpscr\n"
                                  "tst %[status], %[flushed]\n"
                                  "bne 2f\n"
                                  "add %[in], #64\n"
                                  "vstrw.32 q4, [%[out]], #16\n"
                                  "vstrw.32 q5, [%[out]], #16\n"
                                  "vstrw.32 q6, [%[out]], #16\n"
                                  "vstrw.32 q7, [%[out]], #16\n"
                                  "subs %[blocks], #1\n"
                                  "bne 1b\n"
                                  "2:\n"
            : [in] "+r"(in), [out] "+r"(out), [blocks] "+r"(blocks), [status] "=&r"(status)
            : [low] "r"(low), [minus_low] "r"(-low), [high] "r"(high), [flushed] "i"(CM_FPSCR_FLUSHED)
            : "q0", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "cc", "memory");
        if (blocks > 0) {
            cm_clamp_loop(low, high, in, out, BLOCK);
            in += BLOCK;
            out += BLOCK;
            --blocks;
        }
    }
    cm_clamp_loop(low, high, in, out, count % BLOCK);
}
