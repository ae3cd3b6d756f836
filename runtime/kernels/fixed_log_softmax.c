/* Logarithms of softmax of int8 rows, in fixed point; see compiler/cmcompiler/ops/fixed_log_softmax.py. */
#include "cmrt/args/fixed_log_softmax_s8.h"
#include "cmrt/arithmetic.h"
#include "cmrt/program.h"
#include "cmrt/softmax.h"

enum { STEP_BITS = 22, POWER_BITS = 25, INTEGER_BITS = 12 };

/* Constants with 31 fractional bits: see compiler/cmcompiler/ops/support/logarithm.py. */
#define LOG_2 1488522236
#define ROOT 1518500250
#define ROOT_OF_ROOT 1805811301
#define ALPHA_N 117049297
#define ALPHA_D 127690142
#define ALPHA_I 1057819769
#define ALPHA_F 638450708

/* a * b * 2^-31 to the nearest integer, halves up. */
static int32_t high(int32_t a, int32_t b)
{
    return (int32_t)(((int64_t)a * b + (INT64_C(1) << 30)) >> 31);
}

/* To the nearest integer, halves away from zero. */
static int32_t shift_right(int32_t x, int32_t n)
{
    int64_t half = n > 0 ? INT64_C(1) << (n - 1) : 0;
    return (int32_t)(x >= 0 ? (x + half) >> n : -((half - x) >> n));
}

static int32_t twice(int32_t x)
{
    return x > INT32_MAX / 2 ? INT32_MAX : 2 * x;
}

/* The natural logarithm, with 26 fractional bits, of x >= 1 with 19. */
static int32_t logarithm(int32_t x)
{
    int32_t headroom = __builtin_clz((uint32_t)x) - 1;
    int32_t first = twice(high(x << headroom, ROOT));
    int32_t first_power = (INTEGER_BITS - 1 - headroom) * (1 << POWER_BITS) + (1 << (POWER_BITS - 2));
    headroom = __builtin_clz((uint32_t)high(x, ROOT)) - 1;
    int32_t second = x > INT32_MAX >> headroom ? INT32_MAX : x << headroom;
    int32_t second_power = (INTEGER_BITS - headroom) * (1 << POWER_BITS) - (1 << (POWER_BITS - 2));
    int32_t r = first < second ? first : second;
    int32_t power = first_power > second_power ? first_power : second_power;
    int32_t p = (int32_t)(((int64_t)r + ROOT_OF_ROOT + 1) >> 1);
    int32_t q = 2 * (r - ROOT_OF_ROOT);
    int32_t square = high(q, q);
    int32_t numerator = high(q, r) + high(high(q, square), ALPHA_N);
    int32_t denominator = high(p, ALPHA_I + q + high(ALPHA_D, square)) + high(ALPHA_F, q);
    int32_t reciprocal = cm_softmax_scale((uint32_t)denominator + (UINT32_C(1) << 31), 0).multiplier;
    return twice(high(power, LOG_2) + high(shift_right(numerator, 6), reciprocal));
}

void cm_fixed_log_softmax_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_fixed_log_softmax_s8 *op = call->arguments;
    const int32_t *exponentials = cm_read(context, op->exponentials);
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    for (int32_t row = 0; row < op->rows; ++row, input += op->length, output += op->length) {
        int32_t maximum = INT8_MIN, sum = 0;
        for (int32_t i = 0; i < op->length; ++i)
            maximum = input[i] > maximum ? input[i] : maximum;
        for (int32_t i = 0; i < op->length; ++i)
            sum += exponentials[maximum - input[i]];
        int32_t part = logarithm(sum);
        int32_t least = shift_right(high(part + INT32_MIN, op->reverse_multiplier), op->reverse_shift);
        if (least < op->least - 1)
            least = op->least - 1;
        for (int32_t i = 0; i < op->length; ++i) {
            int32_t difference = input[i] - maximum, steps = INT8_MIN;
            if (difference > least) {
                int32_t scaled = high(difference * (1 << op->shift), op->multiplier);
                steps = INT8_MAX + shift_right(scaled - part, STEP_BITS);
            }
            output[i] = (int8_t)cm_clamp(steps, INT8_MIN, INT8_MAX);
        }
    }
}
