/* Elements at the indices in another tensor; see compiler/cmcompiler/ops/gather.py. */
#include "cmrt/args/gather.h"
#include "cmrt/copy.h"
#include "cmrt/element.h"
#include "cmrt/nest.h"

static int32_t place_of(const struct cm_gather *op, int64_t index)
{
    int64_t last = op->index_count - 1;
    int64_t inside = index < 0 ? index + op->index_count : index;
    return (int32_t)(inside < 0 ? 0 : inside > last ? last : inside) * op->index_stride;
}

/* One index for the whole run: a strided copy. */
static void gather_run(const struct cm_gather *op, const uint8_t *input, const uint8_t *index,
                       uint8_t *output)
{
    if (op->index_step == 0) {
        input += place_of(op, cm_load((enum cm_element)op->index_type, index, 0));
        cm_isa_copy_strided(input, op->input_step, output, op->size, op->size, op->count);
        return;
    }
    for (int32_t i = 0; i < op->count; ++i) {
        int32_t place = place_of(op, cm_load((enum cm_element)op->index_type, index, i * op->index_step));
        const uint8_t *element = input + i * op->input_step + place;
        if (op->size == 1)
            output[i] = *element;
        else
            cm_isa_copy_strided(element, 0, output + i * op->size, 0, op->size, 1);
    }
}

void cm_gather(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_gather *op = call->arguments;
    const uint8_t *input = cm_read(context, op->input), *index = cm_read(context, op->index);
    uint8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        gather_run(op, input + nest.offset[0], index + nest.offset[1], output + nest.offset[2]);
    while (cm_nest_next(&nest));
}
