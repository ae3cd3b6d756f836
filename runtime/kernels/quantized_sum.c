/* Sums of int8 numbers; see compiler/cmcompiler/ops/quantized_sum.py. */
#include "cmrt/args/quantized_sum.h"
#include "cmrt/args/quantized_sum_rows.h"
#include "cmrt/row_sums.h"
#include "cmrt/sum_groups.h"

#include <string.h>

enum { GROUPS = 32 }; /* at once */

/* The sums of groups of elements that follow each other. */
static void sum_groups(const struct cm_quantized_sum *op, const int8_t *input, int8_t *output)
{
    int32_t sums[GROUPS];
    for (int32_t left = op->outer, most; left > 0; left -= most) {
        most = left < GROUPS ? left : GROUPS;
        cm_isa_sum_groups_s8(input, most, op->members, sums);
        cm_isa_scale_sums_s8(&op->scale, sums, output, most);
        input += most * op->members;
        output += most;
    }
}

void cm_quantized_sum(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantized_sum *op = call->arguments;
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    int32_t *sums = cm_write(context, op->sums);
    if (op->inner == 1) {
        sum_groups(op, input, output);
        return;
    }
    for (int32_t i = 0; i < op->outer; ++i, input += op->members * op->inner, output += op->inner) {
        memset(sums, 0, sizeof *sums * (size_t)op->inner);
        cm_isa_add_rows_s8(input, op->members, op->inner, sums);
        cm_isa_scale_sums_s8(&op->scale, sums, output, op->inner);
    }
}

void cm_quantized_sum_rows(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_quantized_sum_rows *op = call->arguments;
    const int32_t *sums = cm_add_to_sums(context, &op->total, call);
    if (sums == NULL)
        return;
    cm_isa_scale_sums_s8(&op->scale, sums, cm_write(context, op->output), op->total.input.channels);
}
