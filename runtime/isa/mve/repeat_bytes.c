/* Repeated bytes with MVE: a vector of some bytes if their number divides it, else a byte at a time. */
#include "cmrt/elementwise.h"

#include <arm_mve.h>

static void gather(int8_t *out, const int8_t *in, int32_t times, int32_t count)
{
    uint8x16_t places = vidupq_n_u8(0, 1);
    for (int32_t left = times; left > 1; left /= 2)
        places = vshrq_n_u8(places, 1);
    const int32_t step = 16 / times, bytes = times * count;
    const uint8x16_t next = vaddq_n_u8(places, (uint8_t)step);
    __asm volatile("wls lr, %[twos], 2f\n"
                   "1:\n"
                   "vldrb.u8 q1, [%[in], %q[places]]\n"
                   "vldrb.u8 q2, [%[in], %q[next]]\n"
                   "add %[in], %[two_steps]\n"
                   "vstrb.8 q1, [%[out]], #16\n"
                   "vstrb.8 q2, [%[out]], #16\n"
                   "le lr, 1b\n"
                   "2:\n"
                   "wlstp.8 lr, %[rest], 4f\n"
                   "3:\n"
                   "vldrb.u8 q1, [%[in], %q[places]]\n"
                   "add %[in], %[step]\n"
                   "vstrb.8 q1, [%[out]], #16\n"
                   "letp lr, 3b\n"
                   "4:\n"
                   : [in] "+r"(in), [out] "+l"(out)
                   : [places] "w"(places), [next] "w"(next), [step] "r"(step), [two_steps] "r"(2 * step),
                     [twos] "r"(bytes / 32), [rest] "r"(bytes % 32)
                   : "q1", "q2", "lr", "cc", "memory");
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
