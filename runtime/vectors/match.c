/* Whether memory holds what a test vector expects. */
#include "cmrt/vectors.h"

#include <string.h>

#include "cmrt/program.h"

/* float32, to avoid linking double arithmetic; smallest is FLT_MIN, as in cmbuild/verify/tolerance.py */
static const float relative = 1e-5f, smallest = 1.17549435e-38f;

static float read_float(const uint8_t *bytes)
{
    float number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

static bool is_nan(float number)
{
    return number != number;
}

static float magnitude(float number)
{
    return number < 0 ? -number : number;
}

static bool near_float(float found, float expected)
{
    return magnitude(found - expected) <= relative * magnitude(expected) + smallest;
}

static bool match_float(bool near, const uint8_t *found, const uint8_t *expected)
{
    float number = read_float(found), wanted = read_float(expected);
    if (memcmp(found, expected, sizeof(float)) == 0 || (is_nan(number) && is_nan(wanted)))
        return true;
    return near && near_float(number, wanted);
}

static bool near_step(uint8_t found, uint8_t expected)
{
    int32_t difference = (int8_t)found - (int8_t)expected;
    return difference >= -1 && difference <= 1;
}

bool cm_vectors_match(enum cm_rule rule, const void *found, const void *expected, uint32_t bytes)
{
    const uint8_t *numbers = found, *wanted = expected;
    switch (rule) {
    case CM_RULE_FLOAT:
    case CM_RULE_NEAR:
        for (uint32_t i = 0; i + sizeof(float) <= bytes; i += sizeof(float))
            if (!match_float(rule == CM_RULE_NEAR, numbers + i, wanted + i))
                return false;
        return true;
    case CM_RULE_NEAR_S8:
        for (uint32_t i = 0; i < bytes; ++i)
            if (!near_step(numbers[i], wanted[i]))
                return false;
        return true;
    case CM_RULE_BITS:
    default:
        return memcmp(numbers, wanted, bytes) == 0;
    }
}

static const uint8_t *sample_of(const struct cm_stream *stream, uint32_t sample)
{
    return stream->data + sample * stream->bytes;
}

void cm_vectors_write(const struct cm_vectors *vectors, const struct cm_context *context,
                      const struct cm_port *inputs, uint32_t sample)
{
    for (uint32_t i = 0; i < vectors->input_count; ++i) {
        const struct cm_stream *stream = &vectors->inputs[i];
        if (inputs[i].data != CM_REF_NONE)
            memcpy(cm_write(context, inputs[i].data), sample_of(stream, sample), stream->bytes);
    }
}

bool cm_vectors_exchange(const struct cm_vectors *vectors, const struct cm_wait *wait, uint32_t sample)
{
    const struct cm_stream *streams = wait->into != NULL ? vectors->inputs : vectors->outputs;
    const struct cm_stream *stream = &streams[wait->port];
    const uint8_t *row = sample_of(stream, sample) + wait->offset;
    if (wait->into == NULL)
        return cm_vectors_match(stream->rule, wait->from, row, wait->bytes);
    memcpy(wait->into, row, wait->bytes);
    return true;
}

int32_t cm_vectors_differ(const struct cm_vectors *vectors, const struct cm_context *context,
                          const struct cm_port *outputs, uint32_t sample)
{
    for (uint32_t i = 0; i < vectors->output_count; ++i) {
        const struct cm_stream *stream = &vectors->outputs[i];
        if (outputs[i].data == CM_REF_NONE)
            continue;
        const void *found = cm_read(context, outputs[i].data);
        if (!cm_vectors_match(stream->rule, found, sample_of(stream, sample), stream->bytes))
            return (int32_t)i;
    }
    return -1;
}
