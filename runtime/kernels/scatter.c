/* Elements replaced, or added to, at the indices in a tensor; see compiler/cmcompiler/ops/scatter.py. */
#include "cmrt/args/scatter.h"
#include "cmrt/element.h"
#include "cmrt/nest.h"

static int32_t place_of(const struct cm_scatter *op, int64_t index)
{
    int64_t last = op->index_count - 1;
    int64_t inside = index < 0 ? index + op->index_count : index;
    return (int32_t)(inside < 0 ? 0 : inside > last ? last : inside) * op->index_stride;
}

static void put(const struct cm_scatter *op, uint8_t *output, const uint8_t *value)
{
    enum cm_element type = (enum cm_element)op->type;
    if (type == CM_FLOAT32) {
        float sum = *(const float *)(const void *)value;
        if (op->adds != 0)
            sum = *(const float *)(const void *)output + sum;
        *(float *)(void *)output = sum;
        return;
    }
    uint64_t sum = (uint64_t)cm_load(type, value, 0);
    if (op->adds != 0)
        sum += (uint64_t)cm_load(type, output, 0);
    cm_store(type, output, 0, (int64_t)sum);
}

void cm_scatter(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_scatter *op = call->arguments;
    const uint8_t *index = cm_read(context, op->index), *values = cm_read(context, op->values);
    uint8_t *output = cm_write(context, op->output);
    struct cm_nest nest;
    cm_nest_start(&nest, context, op->levels, op->depth);
    do
        for (int32_t i = 0; i < op->count; ++i) {
            const uint8_t *indices = index + nest.offset[0];
            int64_t chosen = cm_load((enum cm_element)op->index_type, indices, i * op->index_step);
            put(op, output + nest.offset[2] + i * op->output_step + place_of(op, chosen),
                values + nest.offset[1] + i * op->values_step);
        }
    while (cm_nest_next(&nest));
}
