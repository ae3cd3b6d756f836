/* Sets a tensor to one value. */
#include "cmrt/args/fill.h"
#include "cmrt/program.h"

#include <string.h>

void cm_fill(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_fill *op = call->arguments;
    uint8_t *output = cm_write(context, op->output);
    uint32_t words = op->bytes / 4;
    if (op->low == op->high && op->low == (op->low & 0xff) * UINT32_C(0x01010101)) {
        memset(output, (int)(op->low & 0xff), op->bytes);
        return;
    }
    uint32_t *word = (uint32_t *)output;
    for (uint32_t i = 0; i < words; ++i)
        word[i] = (i & 1) != 0 ? op->high : op->low;
    for (uint32_t i = words * 4; i < op->bytes; ++i)
        output[i] = (uint8_t)(op->low >> 8 * (i % 4));
}
