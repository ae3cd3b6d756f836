/* Floats to int8 with MVE. The product is rounded on its own, not fused. */
#include "cmrt/elementwise.h"

/* q0 = sixteen results; the loads take 64 bytes, the slack after every tensor. */
#define QUANTIZE_SIXTEEN                                                                                     \
    "vld40.32 {q0, q1, q2, q3}, [%[in]]\n"                                                                   \
    "vld41.32 {q0, q1, q2, q3}, [%[in]]\n"                                                                   \
    "vld42.32 {q0, q1, q2, q3}, [%[in]]\n"                                                                   \
    "vld43.32 {q0, q1, q2, q3}, [%[in]]!\n"                                                                  \
    "vmul.f32 q0, q0, %[inverse_scale]\n"                                                                    \
    "vmul.f32 q1, q1, %[inverse_scale]\n"                                                                    \
    "vmul.f32 q2, q2, %[inverse_scale]\n"                                                                    \
    "vmul.f32 q3, q3, %[inverse_scale]\n"                                                                    \
    "vcvtn.s32.f32 q0, q0\n"                                                                                 \
    "vcvtn.s32.f32 q1, q1\n"                                                                                 \
    "vcvtn.s32.f32 q2, q2\n"                                                                                 \
    "vcvtn.s32.f32 q3, q3\n"                                                                                 \
    "vqmovnb.s32 q0, q0\n"                                                                                   \
    "vqmovnb.s32 q1, q1\n"                                                                                   \
    "vqmovnt.s32 q0, q2\n"                                                                                   \
    "vqmovnt.s32 q1, q3\n"                                                                                   \
    "vqadd.s16 q0, q0, %[zero_point]\n"                                                                      \
    "vqadd.s16 q1, q1, %[zero_point]\n"                                                                      \
    "vqmovnb.s16 q0, q0\n"                                                                                   \
    "vqmovnt.s16 q0, q1\n"                                                                                   \
    "vmax.s8 q0, q0, q4\n"                                                                                   \
    "vmin.s8 q0, q0, q5\n"

void cm_isa_quantize_s8(const struct cm_quantize_parameters *to, const float *in, int8_t *out, int32_t count)
{
    uint32_t inverse_scale;
    __builtin_memcpy(&inverse_scale, &to->inverse_scale, sizeof inverse_scale);
    __asm volatile(
        "vdup.8 q4, %[minimum]\n"
        "vdup.8 q5, %[maximum]\n"
        "wls lr, %[blocks], 2f\n"
        "1:\n" QUANTIZE_SIXTEEN "vstrb.8 q0, [%[out]], #16\n"
        "le lr, 1b\n"
        "2:\n"
        "cbz %[rest], 3f\n" QUANTIZE_SIXTEEN "vctp.8 %[rest]\n"
        "vpst\n"
        "vstrbt.8 q0, [%[out]]\n"
        "3:\n"
        : [in] "+r"(in), [out] "+r"(out)
        : [inverse_scale] "r"(inverse_scale), [zero_point] "r"(to->zero_point), [minimum] "r"(to->minimum),
          [maximum] "r"(to->maximum), [blocks] "r"(count / 16), [rest] "l"(count % 16)
        : "q0", "q1", "q2", "q3", "q4", "q5", "lr", "memory");
}
