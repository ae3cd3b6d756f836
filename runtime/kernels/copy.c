/* Strided copies; see compiler/cmcompiler/ir/movement/copy.py. */
#include "cmrt/args/copy.h"
#include "cmrt/copy.h"
#include "cmrt/isa.h"
#include "cmrt/nest.h"

static void copy_rows(const struct cm_copy *op, const uint8_t *input, uint8_t *output)
{
    if (op->input_step == op->size && op->output_step == op->size) {
        cm_isa_copy_blocks_s8((int8_t *)output, op->output_row, (const int8_t *)input, op->input_row,
                              op->count * op->size, op->rows);
        return;
    }
    for (int32_t row = 0; row < op->rows; ++row) {
        cm_isa_copy_strided(input, op->input_step, output, op->output_step, op->size, op->count);
        input += op->input_row;
        output += op->output_row;
    }
}

void cm_copy(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_copy *op = call->arguments;
    /* An in-place op has its input here already. */
    if (op->input == op->output)
        return;
    const uint8_t *input = cm_read(context, op->input);
    uint8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        copy_rows(op, input + nest.offset[0], output + nest.offset[1]);
    while (cm_nest_next(&nest));
}
