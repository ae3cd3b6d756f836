#include "cmrt/sum_groups.h"

#include "simd.h"

/* Four at a time as unsigned bytes, each 128 more. */
void cm_isa_sum_groups_s8(const int8_t *in, int32_t groups, int32_t members, int32_t *sums)
{
    for (int32_t i = 0; i < groups; ++i) {
        uint32_t sum = 0;
        int32_t left = members;
        for (; left >= 4; left -= 4, in += 4)
            sum = add_bytes(load_bytes(in) ^ 0x80808080, sum);
        int32_t total = (int32_t)(sum - 128 * (uint32_t)(members - left));
        for (; left > 0; --left)
            total += *in++;
        sums[i] = total;
    }
}
