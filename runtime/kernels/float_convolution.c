/* Convolution of floats; see compiler/cmcompiler/ops/float_convolution.py. Offsets and steps in bytes. */
#include "cmrt/args/convolution_f32.h"
#include "cmrt/dot.h"
#include "cmrt/program.h"

/* Outputs along an axis that meet inputs with the same taps, and the offsets of the first. */
struct segment {
    int32_t count, taps;
    int32_t output, input, weight;
};

/* A segment of each axis. */
struct region {
    const struct segment *depth, *height, *width;
};

/* The tensors, from the first element of a region's taps on. */
struct tensors {
    const uint8_t *input, *weights, *bias;
    uint8_t *output;
};

/* The taps of a region in the order of the sums; rows are weights, lanes are inputs. */
static int32_t list_taps(const struct cm_convolution_f32 *op, const struct region *region,
                         struct cm_tap *taps)
{
    int32_t count = 0;
    for (int32_t channel = 0; channel < op->block; ++channel)
        for (int32_t z = 0; z < region->depth->taps; ++z)
            for (int32_t y = 0; y < region->height->taps; ++y) {
                struct cm_tap tap = {
                    channel * op->weight_channel + z * op->depth.tap_weight + y * op->height.tap_weight,
                    channel * op->input_channel + z * op->depth.tap_input + y * op->height.tap_input,
                };
                for (int32_t x = 0; x < region->width->taps; ++x) {
                    taps[count++] = tap;
                    tap.row += op->width.tap_weight;
                    tap.lane += op->width.tap_input;
                }
            }
    return count;
}

/* Lanes are places, rows are channels. */
static void convolve_places(const struct cm_convolution_f32 *op, const struct tensors *at, struct cm_dot *dot)
{
    for (int32_t i = dot->lane_count; i < CM_DOT_LANES; ++i) {
        dot->lane_offsets[i] = dot->lane_offsets[i - 1];
        dot->out_offsets[i] = dot->out_offsets[i - 1];
    }
    for (int32_t n = 0; n < op->batch; ++n)
        for (int32_t group = 0; group < op->groups; ++group) {
            dot->row = at->weights + group * op->weight_group;
            dot->lane = at->input + n * op->input_batch + group * op->input_group;
            dot->out = at->output + n * op->output_batch + group * op->output_group;
            if (at->bias != NULL)
                dot->addend = at->bias + group * op->output_channels * (int32_t)sizeof(float);
            cm_isa_dot_f32(dot);
        }
    dot->lane_count = 0;
}

/* Lanes are channels, and there is one row. */
static void convolve_place(const struct cm_convolution_f32 *op, const struct tensors *at, struct cm_dot *dot,
                           int32_t input, int32_t output)
{
    for (int32_t first = 0; first < op->output_channels; first += CM_DOT_LANES) {
        int32_t left = op->output_channels - first;
        dot->lane_count = left < CM_DOT_LANES ? left : CM_DOT_LANES;
        for (int32_t i = 0; i < CM_DOT_LANES; ++i) {
            int32_t channel = first + (i < dot->lane_count ? i : dot->lane_count - 1);
            dot->lane_offsets[i] = channel * op->weight_output;
            dot->addend_offsets[i] = channel * (int32_t)sizeof(float);
            dot->out_offsets[i] = channel * op->output_channel;
        }
        for (int32_t n = 0; n < op->batch; ++n)
            for (int32_t group = 0; group < op->groups; ++group) {
                dot->row = at->input + input + n * op->input_batch + group * op->input_group;
                dot->lane = at->weights + group * op->weight_group;
                dot->out = at->output + output + n * op->output_batch + group * op->output_group;
                if (at->bias != NULL)
                    dot->addend = at->bias + group * op->output_channels * (int32_t)sizeof(float);
                cm_isa_dot_f32(dot);
            }
    }
}

/* Few places that are left in the lanes become rows, one by one. */
static void convolve_rest(const struct cm_convolution_f32 *op, const struct tensors *at, struct cm_dot *dot,
                          struct cm_tap *taps)
{
    const struct cm_dot places = *dot;
    for (struct cm_tap *tap = taps; tap < taps + dot->tap_count; ++tap)
        *tap = (struct cm_tap){tap->lane, tap->row};
    dot->row_count = 1;
    dot->row_block = places.lane_block;
    dot->lane_block = places.row_block;
    for (int32_t i = 0; i < places.lane_count; ++i)
        convolve_place(op, at, dot, places.lane_offsets[i], places.out_offsets[i]);
}

/* From the first output of a segment to another one; without taps there are no inputs. */
static int32_t input_of(const struct cm_axis *axis, const struct segment *segment, int32_t i)
{
    return segment->taps > 0 ? i * axis->input_step : 0;
}

static void convolve_region(const struct cm_convolution_f32 *op, const struct region *region,
                            const struct tensors *at, struct cm_tap *taps)
{
    const int32_t few = 4;
    struct cm_dot dot = {
        .taps = taps,
        .tap_count = list_taps(op, region, taps),
        .blocks = op->blocks,
        .row_block = op->block * op->weight_channel,
        .lane_block = op->block * op->input_channel,
        .row_count = op->output_channels,
        .row_step = op->weight_output,
        .row_lane = op->channel_input,
        .out_step = op->output_channel,
        .addend_step = sizeof(float),
        .alpha = 1,
        .beta = 1,
    };
    const int32_t input_step = region->width->taps > 0 ? op->width.input_step : 0;
    for (int32_t z = 0; z < region->depth->count; ++z)
        for (int32_t y = 0; y < region->height->count; ++y) {
            int32_t input = input_of(&op->depth, region->depth, z) + input_of(&op->height, region->height, y);
            int32_t output = z * op->depth.output_step + y * op->height.output_step;
            for (int32_t x = 0; x < region->width->count; ++x) {
                dot.lane_offsets[dot.lane_count] = input;
                dot.out_offsets[dot.lane_count++] = output;
                if (dot.lane_count == CM_DOT_LANES)
                    convolve_places(op, at, &dot);
                input += input_step;
                output += op->width.output_step;
            }
        }
    if (dot.lane_count >= few || (dot.lane_count > 0 && (op->output_channels < few || dot.row_lane != 0)))
        convolve_places(op, at, &dot);
    else if (dot.lane_count > 0)
        convolve_rest(op, at, &dot, taps);
}

void cm_convolution_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_convolution_f32 *op = call->arguments;
    const struct segment *depth = cm_read(context, op->depth.segments);
    const struct segment *height = cm_read(context, op->height.segments);
    const struct segment *width = cm_read(context, op->width.segments);
    for (int32_t z = 0; z < op->depth.segment_count; ++z)
        for (int32_t y = 0; y < op->height.segment_count; ++y)
            for (int32_t x = 0; x < op->width.segment_count; ++x) {
                const struct region region = {&depth[z], &height[y], &width[x]};
                int32_t input = depth[z].input + height[y].input + width[x].input;
                int32_t weight = depth[z].weight + height[y].weight + width[x].weight;
                int32_t output = depth[z].output + height[y].output + width[x].output;
                const struct tensors at = {
                    .input = (const uint8_t *)cm_read(context, op->input) + input,
                    .weights = (const uint8_t *)cm_read(context, op->weights) + weight,
                    .bias = op->bias == CM_REF_NONE ? NULL : cm_read(context, op->bias),
                    .output = (uint8_t *)cm_write(context, op->output) + output,
                };
                convolve_region(op, &region, &at, cm_write(context, op->taps));
            }
}
