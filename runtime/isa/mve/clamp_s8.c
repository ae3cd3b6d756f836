#include "cmrt/isa.h"

void cm_isa_clamp_s8(int8_t *x, int32_t count, int32_t minimum, int32_t maximum)
{
    __asm volatile("vdup.8 q1, %[minimum]\n"
                   "vdup.8 q2, %[maximum]\n"
                   "dlstp.8 lr, %[count]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[x]]\n"
                   "vmax.s8 q0, q0, q1\n"
                   "vmin.s8 q0, q0, q2\n"
                   "vstrb.8 q0, [%[x]], #16\n"
                   "letp lr, 1b\n"
                   : [x] "+r"(x)
                   : [count] "r"(count), [minimum] "r"(minimum), [maximum] "r"(maximum)
                   : "q0", "q1", "q2", "lr", "memory");
}
