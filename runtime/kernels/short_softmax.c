/* Softmax over rows, to int16; see compiler/cmcompiler/ops/short_softmax.py. */
#include "cmrt/args/short_softmax.h"
#include "cmrt/args/short_masked_softmax.h"
#include "cmrt/arithmetic.h"
#include "cmrt/interpolation.h"
#include "cmrt/nest.h"
#include "cmrt/program.h"

static int32_t element(const void *input, int32_t size, int32_t i)
{
    return size == 2 ? ((const int16_t *)input)[i] : ((const int8_t *)input)[i];
}

static int32_t leading_zeros(uint32_t x)
{
    int32_t count = 0;
    for (; (x & UINT32_C(0x80000000)) == 0; x <<= 1)
        ++count;
    return count;
}

/* `length` elements from element `first`. */
static void softmax(const struct cm_context *context, const struct cm_short_softmax *op, const void *input,
                    int16_t *output, int32_t first, int32_t length)
{
    const int16_t *exponentials = cm_read(context, op->exponentials);
    const int16_t *reciprocals = cm_read(context, op->reciprocals);
    int32_t largest = element(input, op->size, first);
    for (int32_t i = 1; i < length; ++i) {
        int32_t x = element(input, op->size, first + i);
        largest = x > largest ? x : largest;
    }
    uint32_t sum = 0;
    for (int32_t i = 0; i < length; ++i) {
        int32_t distance = element(input, op->size, first + i) - largest;
        int32_t place = cm_requantize(distance, op->multiplier, op->shift) + 32767;
        int32_t power = cm_interpolated(exponentials, cm_clamp(place, INT16_MIN, INT16_MAX));
        power = op->is_cut != 0 && place < INT16_MIN ? 0 : power;
        output[first + i] = (int16_t)power;
        sum += (uint32_t)power;
    }
    const int32_t headroom = leading_zeros(sum), right = 31 - headroom;
    int64_t shifted = (((int64_t)sum << (headroom - 1)) + (1 << 13)) >> 14;
    int32_t place = cm_clamp((int32_t)shifted - (1 << 15) - (1 << 16), INT16_MIN, INT16_MAX);
    const int32_t inverse = cm_interpolated(reciprocals, place);
    for (int32_t i = 0; i < length; ++i) {
        int64_t product = (int64_t)output[first + i] * inverse + (INT64_C(1) << (right - 1));
        output[first + i] = (int16_t)cm_clamp((int32_t)(product >> right), 0, INT16_MAX);
    }
}

void cm_short_softmax(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_short_softmax *op = call->arguments;
    for (int32_t row = 0; row < op->rows; ++row)
        softmax(context, op, cm_read(context, op->input), cm_write(context, op->output), row * op->length,
                op->length);
}

void cm_short_masked_softmax(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_short_masked_softmax *op = call->arguments;
    const int32_t length = op->softmax.length;
    int16_t *kept = cm_write(context, op->kept);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const int16_t *input = (const int16_t *)cm_read(context, op->softmax.input) + nest.offset[0];
        const uint8_t *mask = (const uint8_t *)cm_read(context, op->mask) + nest.offset[1];
        int16_t *output = (int16_t *)cm_write(context, op->softmax.output) + nest.offset[0];
        int32_t count = 0;
        for (int32_t i = 0; i < length; ++i)
            if (mask[i * op->mask_step] != 0)
                kept[count++] = input[i];
        if (count > 0)
            softmax(context, &op->softmax, kept, kept, 0, count);
        else if (op->is_empty_unmasked != 0) {
            softmax(context, &op->softmax, input, output, 0, length);
            continue;
        }
        int16_t excluded = (int16_t)(count > 0 ? 0 : op->of_empty);
        for (int32_t i = 0, next = 0; i < length; ++i)
            output[i] = mask[i * op->mask_step] != 0 ? kept[next++] : excluded;
    } while (cm_nest_next(&nest));
}
