#include "cmrt/gates.h"
#include "simd.h"

/* Two numbers at any even address. */
static inline uint32_t load_pair(const int16_t *numbers)
{
    uint32_t pair;
    memcpy(&pair, numbers, sizeof pair);
    return pair;
}

int32_t cm_isa_filter_s16(const int16_t *from, int16_t *to, const int16_t *weights, int32_t count,
                          int32_t sum)
{
    for (; count >= 2; count -= 2, from += 2, to += 2, weights += 2) {
        uint32_t pair = load_pair(from);
        memcpy(to, &pair, sizeof pair);
        sum = __smlad((int16x2_t)pair, (int16x2_t)load_pair(weights), sum);
    }
    if (count > 0) {
        *to = *from;
        sum = cm_wrapping_add(sum, *to * *weights);
    }
    return sum;
}
