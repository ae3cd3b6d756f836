/* One of two tensors, element by element; see compiler/cmcompiler/ops/where.py. */
#include "cmrt/args/where.h"
#include "cmrt/elementwise.h"
#include "cmrt/nest.h"

void cm_where_bytes(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_where *op = call->arguments;
    const uint8_t *condition = cm_read(context, op->condition);
    const uint8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    uint8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const struct cm_byte_operands bytes = {lhs + nest.offset[1], rhs + nest.offset[2], op->lhs_step,
                                               op->rhs_step};
        cm_isa_choose_bytes(condition + nest.offset[0], op->condition_step, bytes, output + nest.offset[3],
                            op->count);
    } while (cm_nest_next(&nest));
}

static void copy_element(uint8_t *output, const uint8_t *input, int32_t size)
{
    switch (size) {
    case 1:
        *output = *input;
        break;
    case 2:
        *(uint16_t *)(void *)output = *(const uint16_t *)(const void *)input;
        break;
    case 4:
        *(uint32_t *)(void *)output = *(const uint32_t *)(const void *)input;
        break;
    default:
        *(uint64_t *)(void *)output = *(const uint64_t *)(const void *)input;
        break;
    }
}

void cm_where(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_where *op = call->arguments;
    const uint8_t *condition = cm_read(context, op->condition);
    const uint8_t *lhs = cm_read(context, op->lhs), *rhs = cm_read(context, op->rhs);
    uint8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do {
        const uint8_t *chooses = condition + nest.offset[0];
        const uint8_t *a = lhs + nest.offset[1], *b = rhs + nest.offset[2];
        for (int32_t i = 0; i < op->count; ++i) {
            const uint8_t *chosen = chooses[i * op->condition_step] != 0 ? a : b;
            copy_element(output + nest.offset[3] + i * op->size, chosen, op->size);
            a += op->lhs_step;
            b += op->rhs_step;
        }
    } while (cm_nest_next(&nest));
}
