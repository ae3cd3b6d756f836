#include "cmrt/sum_groups.h"

void cm_isa_sum_groups_s8(const int8_t *in, int32_t groups, int32_t members, int32_t *sums)
{
    for (int32_t i = 0; i < groups; ++i) {
        int32_t sum = 0;
        for (int32_t k = 0; k < members; ++k)
            sum += *in++;
        sums[i] = sum;
    }
}
