/* Softmax of the elements of int8 rows that a mask keeps; see compiler/cmcompiler/ops/masked_softmax.py. */
#include "cmrt/args/masked_softmax.h"
#include "cmrt/nest.h"
#include "cmrt/softmax.h"

void cm_masked_softmax(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_masked_softmax *op = call->arguments;
    const int32_t *exponentials = cm_read(context, op->exponentials);
    int8_t *kept = cm_write(context, op->kept);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const int8_t *input = (const int8_t *)cm_read(context, op->input) + nest.offset[0];
        const uint8_t *mask = (const uint8_t *)cm_read(context, op->mask) + nest.offset[1];
        int8_t *output = (int8_t *)cm_write(context, op->output) + nest.offset[0];
        int32_t count = 0;
        for (int32_t i = 0; i < op->length; ++i)
            if (mask[i * op->mask_step] != 0)
                kept[count++] = input[i];
        if (count > 0)
            cm_isa_softmax_s8(kept, exponentials, kept, count, op->finer_bits);
        else if (op->is_empty_unmasked) {
            cm_isa_softmax_s8(input, exponentials, output, op->length, op->finer_bits);
            continue;
        }
        int8_t excluded = (int8_t)(count > 0 ? INT8_MIN : op->of_empty);
        for (int32_t i = 0, next = 0; i < op->length; ++i)
            output[i] = mask[i * op->mask_step] != 0 ? kept[next++] : excluded;
    } while (cm_nest_next(&nest));
}
