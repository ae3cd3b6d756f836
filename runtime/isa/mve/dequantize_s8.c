#include "cmrt/elementwise.h"

void cm_isa_dequantize_s8(const int8_t *in, int32_t zero_point, float scale, float *out, int32_t count)
{
    uint32_t scale_bits;
    __builtin_memcpy(&scale_bits, &scale, sizeof scale_bits);
    __asm volatile("dlstp.32 lr, %[count]\n"
                   "1:\n"
                   "vldrb.s32 q0, [%[in]], #4\n"
                   "vsub.i32 q0, q0, %[zero_point]\n"
                   "vcvt.f32.s32 q0, q0\n"
                   "vmul.f32 q0, q0, %[scale]\n"
                   "vstrw.32 q0, [%[out]], #16\n"
                   "letp lr, 1b\n"
                   : [in] "+l"(in), [out] "+r"(out)
                   : [zero_point] "r"(zero_point), [scale] "r"(scale_bits), [count] "r"(count)
                   : "q0", "lr", "memory");
}
