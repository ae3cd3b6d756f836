#include "cmrt/norm.h"

void cm_isa_moments_s8(const int8_t *in, int32_t count, int32_t *sum, int32_t *squares)
{
    int32_t total = *sum, total_squares = *squares;
    __asm volatile("dlstp.8 lr, %[count]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]], #16\n"
                   "vaddva.s8 %[total], q0\n"
                   "vmladava.s8 %[total_squares], q0, q0\n"
                   "letp lr, 1b\n"
                   : [in] "+r"(in), [total] "+Te"(total), [total_squares] "+Te"(total_squares)
                   : [count] "r"(count)
                   : "q0", "lr", "memory");
    *sum = total;
    *squares = total_squares;
}

void cm_isa_norm_s8(const struct cm_norm *norm, const int8_t *in, const int32_t *multipliers,
                    const int32_t *biases, int8_t *out, int32_t count)
{
    __asm volatile("vdup.32 q2, %[factor]\n"
                   "vdup.32 q3, %[zero_point]\n"
                   "dlstp.32 lr, %[count]\n"
                   "1:\n"
                   "vldrb.s32 q0, [%[in]], #4\n"
                   "vmlas.s32 q0, q2, %[negative_offset]\n"
                   "vqrdmulh.s32 q0, q0, %[inverse]\n"
                   "vldrw.s32 q1, [%[multipliers]], #16\n"
                   "vqrdmulh.s32 q0, q0, q1\n"
                   "vldrw.s32 q1, [%[biases]], #16\n"
                   "vadd.i32 q0, q0, q1\n"
                   "vrshl.s32 q0, %[left]\n"
                   "vadd.i32 q0, q0, q3\n"
                   "vqmovnb.s32 q0, q0\n"
                   "vqmovnb.s16 q0, q0\n"
                   "vstrb.32 q0, [%[out]], #4\n"
                   "letp lr, 1b\n"
                   : [in] "+l"(in), [multipliers] "+r"(multipliers), [biases] "+r"(biases), [out] "+l"(out)
                   : [factor] "r"(norm->factor), [zero_point] "r"(norm->zero_point),
                     [negative_offset] "r"(-(uint32_t)norm->offset), [inverse] "r"(norm->inverse),
                     [left] "r"(-norm->shift), [count] "r"(count)
                   : "q0", "q1", "q2", "q3", "lr", "memory");
}
