#include "cmrt/sum_groups.h"

void cm_isa_sum_groups_s8(const int8_t *in, int32_t groups, int32_t members, int32_t *sums)
{
    for (; groups > 0; --groups, ++sums) {
        int32_t sum = 0;
        __asm volatile("dlstp.8 lr, %[members]\n"
                       "1:\n"
                       "vldrb.8 q0, [%[in]], #16\n"
                       "vaddva.s8 %[sum], q0\n"
                       "letp lr, 1b\n"
                       : [in] "+r"(in), [sum] "+Te"(sum)
                       : [members] "r"(members)
                       : "q0", "lr", "memory");
        in += members - ((members + 15) & -16);
        *sums = sum;
    }
}
