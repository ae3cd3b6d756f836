/* Repeated bytes with MVE: a vector of some bytes if their number divides it, else a byte at a time. */
#include "cmrt/elementwise.h"

#include <arm_mve.h>

static void gather(int8_t *out, const int8_t *in, int32_t times, int32_t count)
{
    uint8x16_t places = vidupq_n_u8(0, 1);
    for (int32_t left = times; left > 1; left /= 2)
        places = vshrq_n_u8(places, 1);
    __asm volatile("dlstp.8 lr, %[count]\n"
                   "1:\n"
                   "vldrb.u8 q1, [%[in], %q[places]]\n"
                   "add %[in], %[step]\n"
                   "vstrb.8 q1, [%[out]], #16\n"
                   "letp lr, 1b\n"
                   : [in] "+r"(in), [out] "+l"(out)
                   : [places] "w"(places), [step] "r"(16 / times), [count] "r"(times * count)
                   : "q1", "lr", "cc", "memory");
}

void cm_isa_repeat_bytes(int8_t *out, const int8_t *in, int32_t times, int32_t count)
{
    if (times <= 16 && (times & (times - 1)) == 0) {
        gather(out, in, times, count);
        return;
    }
    for (; count > 0; --count) {
        int8x16_t byte = vdupq_n_s8(*in++);
        for (int32_t i = 0; i < times; i += 16)
            vstrbq_p_s8(out + i, byte, vctp8q((uint32_t)(times - i)));
        out += times;
    }
}
