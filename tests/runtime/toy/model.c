/* body.h adds code to the first step. */
#include "model.h"

#include "body.h"

extern const uint8_t toy_weights[];

enum { COUNT = 100 };

static void increment(const struct cm_context *context, const struct cm_call *call)
{
    (void)call;
    for (int i = 0; i < COUNT; ++i)
        context->arena[i] = (uint8_t)(context->arena[i] + 1);
}

static void first(const struct cm_context *context, const struct cm_call *call)
{
    body(context);
    increment(context, call);
}

static const struct cm_step steps[] = {{first, {NULL, 0, 0}}, {increment, {NULL, 0, 0}}};
static const struct cm_port inputs[] = {{0, COUNT}};
static const struct cm_port outputs[] = {{0, COUNT}, {CM_REF_CONSTANT | 1, 4}};

const struct cm_program toy_program = {
    .steps = steps,
    .step_count = 2,
    .inputs = inputs,
    .input_count = 1,
    .outputs = outputs,
    .output_count = 2,
    .constants = toy_weights,
    .constant_bytes = 68,
    .arena_bytes = TOY_ARENA_BYTES,
    .identity = "0123456789abcdef",
};
