/* Logarithms of softmax, and of sums of exponentials, of rows; see
   compiler/cmcompiler/ops/log_softmax.py. */
#include "cmrt/args/log_softmax.h"
#include "cmrt/arithmetic.h"
#include "cmrt/elementwise.h"
#include "cmrt/program.h"

#define EXPONENTIAL_BITS 24
#define LOGARITHM_BITS 16

/* Exponentials are at most 2^24. */
#define CHUNK 255

static int32_t maximum_of(const int8_t *in, int32_t length)
{
    int32_t maximum = INT8_MIN;
    for (int32_t i = 0; i < length; ++i)
        maximum = in[i] > maximum ? in[i] : maximum;
    return maximum;
}

static uint64_t sum_of(const int8_t *in, const uint32_t *exponentials, int32_t maximum, int32_t length)
{
    uint64_t sum = 0;
    while (length > 0) {
        int32_t count = length < CHUNK ? length : CHUNK;
        uint32_t part = 0;
        for (int32_t i = 0; i < count; ++i)
            part += exponentials[maximum - in[i]];
        sum += part;
        in += count;
        length -= count;
    }
    return sum;
}

/* To base 2, rounded down: squaring a number in [1, 2) gives the next bit of its logarithm. */
static int32_t logarithm_of(uint64_t sum)
{
    int32_t exponent = 63 - __builtin_clzll(sum);
    uint32_t mantissa = (uint32_t)(exponent >= 31 ? sum >> (exponent - 31) : sum << (31 - exponent));
    uint32_t fraction = 0;
    for (int32_t i = 0; i < LOGARITHM_BITS; ++i) {
        uint64_t square = (uint64_t)mantissa * mantissa;
        uint32_t upper = (uint32_t)(square >> 32), bit = upper >> 31;
        mantissa = bit != 0 ? upper : upper << 1 | (uint32_t)square >> 31;
        fraction = fraction << 1 | bit;
    }
    return (exponent - EXPONENTIAL_BITS) * (1 << LOGARITHM_BITS) + (int32_t)fraction;
}

static int8_t result(const struct cm_log_softmax *op, int32_t steps)
{
    return (int8_t)cm_clamp((steps >> op->shift) + op->zero_point, INT8_MIN, INT8_MAX);
}

void cm_log_softmax_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_log_softmax *op = call->arguments;
    const uint32_t *exponentials = cm_read(context, op->exponentials);
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    int32_t half = (1 << op->shift) >> 1;
    for (int32_t row = 0; row < op->rows; ++row, input += op->length) {
        int32_t maximum = maximum_of(input, op->length);
        int32_t logarithm = logarithm_of(sum_of(input, exponentials, maximum, op->length));
        int32_t part = (int32_t)((int64_t)logarithm * op->log_multiplier >> LOGARITHM_BITS);
        if (op->is_sum) {
            *output++ = result(op, (maximum - op->centre) * op->multiplier + part + half);
            continue;
        }
        const struct cm_affine affine = {
            .lhs_factor = op->multiplier,
            .offset = half - part - maximum * op->multiplier + op->zero_point * (1 << op->shift),
            .shift = op->shift,
            .minimum = INT8_MIN,
            .maximum = INT8_MAX,
        };
        cm_isa_add_affine_s8(&affine, input, input, 0, output, op->length);
        output += op->length;
    }
}

/* The upper byte of a distance has a table, the lower one another. */
static uint64_t sum_of_short(const int16_t *in, const uint32_t *exponentials, int32_t maximum, int32_t length)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < length; ++i) {
        int32_t distance = maximum - in[i];
        uint64_t product = (uint64_t)exponentials[distance >> 8] * exponentials[256 + (distance & 255)];
        sum += (product + (1 << (EXPONENTIAL_BITS - 1))) >> EXPONENTIAL_BITS;
    }
    return sum;
}

static int16_t short_result(const struct cm_log_softmax *op, int64_t steps)
{
    int64_t result = (steps >> op->shift) + op->zero_point;
    return (int16_t)(result < INT16_MIN ? INT16_MIN : result > INT16_MAX ? INT16_MAX : result);
}

void cm_log_softmax_s16(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_log_softmax *op = call->arguments;
    const uint32_t *exponentials = cm_read(context, op->exponentials);
    const int16_t *input = cm_read(context, op->input);
    int16_t *output = cm_write(context, op->output);
    const int64_t multiplier = op->multiplier, half = (1 << op->shift) >> 1;
    for (int32_t row = 0; row < op->rows; ++row, input += op->length) {
        int32_t maximum = INT16_MIN;
        for (int32_t i = 0; i < op->length; ++i)
            maximum = input[i] > maximum ? input[i] : maximum;
        int32_t logarithm = logarithm_of(sum_of_short(input, exponentials, maximum, op->length));
        int64_t part = (int64_t)logarithm * op->log_multiplier >> LOGARITHM_BITS;
        if (op->is_sum) {
            *output++ = short_result(op, (maximum - op->centre) * multiplier + part + half);
            continue;
        }
        for (int32_t i = 0; i < op->length; ++i)
            *output++ = short_result(op, (input[i] - maximum) * multiplier - part + half);
    }
}
