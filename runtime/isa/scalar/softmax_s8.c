#include "cmrt/arithmetic.h"
#include "cmrt/softmax.h"

#include <string.h>

static int32_t maximum_of(const int8_t *in, int32_t length)
{
    int32_t maximum = INT8_MIN;
    for (int32_t i = 0; i < length; ++i)
        maximum = in[i] > maximum ? in[i] : maximum;
    return maximum;
}

/* Sum of exponentials, cut short when it reaches the largest. */
static uint32_t sum_of(const int8_t *in, const int32_t *exponentials, int32_t maximum, int32_t length,
                       uint32_t largest)
{
    uint32_t sum = 0;
    for (int32_t i = 0; i < length && sum < largest; ++i) {
        uint32_t exponential = (uint32_t)exponentials[maximum - in[i]];
        sum += (exponential + (1U << (CM_SOFTMAX_SUM_BITS - 1))) >> CM_SOFTMAX_SUM_BITS;
    }
    return sum;
}

void cm_isa_softmax_s8(const int8_t *in, const int32_t *exponentials, int8_t *out, int32_t length,
                       int32_t finer_bits)
{
    int32_t maximum = maximum_of(in, length);
    uint32_t largest = cm_softmax_largest_sum(finer_bits);
    uint32_t sum = sum_of(in, exponentials, maximum, length, largest);
    if (sum >= largest) {
        memset(out, INT8_MIN, (size_t)length);
        return;
    }
    struct cm_softmax_scale scale = cm_softmax_scale(sum, finer_bits);
    for (int32_t i = 0; i < length; ++i) {
        int32_t product = cm_doubling_high_multiply(exponentials[maximum - in[i]], scale.multiplier);
        int32_t steps = (int32_t)(((uint32_t)product + (1U << (scale.shift - 1))) >> scale.shift);
        out[i] = (int8_t)(steps > UINT8_MAX ? INT8_MAX : steps + INT8_MIN);
    }
}
