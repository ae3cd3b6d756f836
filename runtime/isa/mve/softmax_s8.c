#include "cmrt/softmax.h"

#include <string.h>

/* The most exponentials that cannot overflow the sum. */
#define CHUNK 2048

static int32_t maximum_of(const int8_t *in, int32_t length)
{
    int32_t maximum = INT8_MIN;
    __asm volatile("dlstp.8 lr, %[length]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]], #16\n"
                   "vmaxv.s8 %[maximum], q0\n"
                   "letp lr, 1b\n"
                   : [in] "+r"(in), [maximum] "+r"(maximum)
                   : [length] "r"(length)
                   : "q0", "lr", "memory");
    return (int8_t)maximum;
}

static uint32_t sum_of(const int8_t *in, const int32_t *exponentials, int32_t maximum, int32_t length)
{
    uint32_t sum = 0;
    __asm volatile("vdup.32 q2, %[maximum]\n"
                   "dlstp.32 lr, %[length]\n"
                   "1:\n"
                   "vldrb.s32 q0, [%[in]], #4\n"
                   "vsub.i32 q0, q2, q0\n"
                   "vldrw.u32 q1, [%[exponentials], q0, uxtw #2]\n"
                   "vrshr.u32 q1, q1, %[bits]\n"
                   "vaddva.u32 %[sum], q1\n"
                   "letp lr, 1b\n"
                   : [in] "+l"(in), [sum] "+Te"(sum)
                   : [exponentials] "r"(exponentials), [maximum] "r"(maximum), [length] "r"(length),
                     [bits] "i"(CM_SOFTMAX_SUM_BITS)
                   : "q0", "q1", "q2", "lr", "memory");
    return sum;
}

static void write_row(const int8_t *in, const int32_t *exponentials, int32_t maximum,
                      struct cm_softmax_scale scale, int8_t *out, int32_t length)
{
    __asm volatile(
        "vdup.32 q2, %[maximum]\n"
        "vmov.i32 q3, #255\n"
        "dlstp.32 lr, %[length]\n"
        "1:\n"
        "vldrb.s32 q0, [%[in]], #4\n"
        "vsub.i32 q0, q2, q0\n"
        "vldrw.u32 q1, [%[exponentials], q0, uxtw #2]\n"
        "vqrdmulh.s32 q1, q1, %[multiplier]\n"
        "vrshl.s32 q1, %[left]\n"
        "vmin.s32 q1, q1, q3\n"
        "vadd.i32 q1, q1, %[minimum]\n"
        "vstrb.32 q1, [%[out]], #4\n"
        "letp lr, 1b\n"
        : [in] "+l"(in), [out] "+l"(out)
        : [exponentials] "r"(exponentials), [maximum] "r"(maximum), [multiplier] "r"(scale.multiplier),
          [left] "r"(-scale.shift), [minimum] "r"(INT8_MIN), [length] "r"(length)
        : "q0", "q1", "q2", "q3", "lr", "memory");
}

void cm_isa_softmax_s8(const int8_t *in, const int32_t *exponentials, int8_t *out, int32_t length,
                       int32_t finer_bits)
{
    int32_t maximum = maximum_of(in, length);
    uint32_t largest = cm_softmax_largest_sum(finer_bits);
    uint32_t sum = 0;
    for (int32_t i = 0; i < length && sum < largest; i += CHUNK)
        sum += sum_of(in + i, exponentials, maximum, length - i < CHUNK ? length - i : CHUNK);
    if (sum >= largest)
        memset(out, INT8_MIN, (size_t)length);
    else
        write_row(in, exponentials, maximum, cm_softmax_scale(sum, finer_bits), out, length);
}
