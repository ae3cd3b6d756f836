/* Convolution of floats; see compiler/cmcompiler/ops/float_convolution.py. */
#include "cmrt/program.h"

/* Tap k of output o meets input (o * stride - padding + k * dilation) / spread, if it exists. The next tap
   that meets an input is `period` taps and `advance` inputs further. Steps in elements. */
struct cm_axis {
    int32_t input, output, kernel;
    int32_t stride, padding, dilation, spread, period, advance;
    int32_t input_step, output_step, weight_step;
};

struct cm_convolution_f32 {
    cm_ref input, weights, bias, output;
    int32_t batch, groups, output_channels, channels; /* channels of one group */
    int32_t input_batch, input_group, input_channel;
    int32_t output_batch, output_group, output_channel;
    int32_t weight_group, weight_output, weight_channel;
    struct cm_axis depth, height, width;
};

/* The taps of one output that meet inputs. */
struct taps {
    int32_t count;
    int32_t input, input_step, weight, weight_step; /* offset of the first, and from one to the next */
};

static struct taps taps_of(const struct cm_axis *axis, int32_t output)
{
    const int32_t end = axis->input * axis->spread, move = axis->period * axis->dilation;
    int32_t tap = 0, place = output * axis->stride - axis->padding;
    while (tap < axis->kernel && (place < 0 || place >= end || place % axis->spread != 0)) {
        ++tap;
        place += axis->dilation;
    }
    struct taps taps = {.count = 0};
    if (tap < axis->kernel) {
        taps.input = place / axis->spread * axis->input_step;
        taps.weight = tap * axis->weight_step;
        taps.input_step = axis->advance * axis->input_step;
        taps.weight_step = axis->period * axis->weight_step;
    }
    for (; tap < axis->kernel && place >= 0 && place < end; tap += axis->period, place += move)
        ++taps.count;
    return taps;
}

static float sum_of_row(const struct taps *taps, const float *input, const float *weights, float sum)
{
    for (int32_t x = 0; x < taps->count; ++x) {
        sum += *input * *weights;
        input += taps->input_step;
        weights += taps->weight_step;
    }
    return sum;
}

/* The addresses of one output's taps, for one channel. */
struct window {
    struct taps depth, height, width;
};

static float sum_of_channel(const struct window *window, const float *input, const float *weights, float sum)
{
    const struct taps *depth = &window->depth, *height = &window->height;
    for (int32_t z = 0; z < depth->count; ++z)
        for (int32_t y = 0; y < height->count; ++y)
            sum = sum_of_row(&window->width, input + z * depth->input_step + y * height->input_step,
                             weights + z * depth->weight_step + y * height->weight_step, sum);
    return sum;
}

static float sum_of_group(const struct cm_convolution_f32 *op, const struct window *window,
                          const float *input, const float *weights)
{
    if (window->depth.count * window->height.count * window->width.count == 1) {
        const struct taps channels = {op->channels, 0, op->input_channel, 0, op->weight_channel};
        return sum_of_row(&channels, input, weights, 0);
    }
    float sum = 0;
    for (int32_t channel = 0; channel < op->channels; ++channel)
        sum = sum_of_channel(window, input + channel * op->input_channel,
                             weights + channel * op->weight_channel, sum);
    return sum;
}

/* All outputs at one place of one image. */
static void convolve(const struct cm_context *context, const struct cm_convolution_f32 *op,
                     const struct window *window, const float *input, float *output)
{
    const float *bias = op->bias == CM_REF_NONE ? NULL : cm_read(context, op->bias);
    const float *weights = cm_read(context, op->weights);
    weights += window->depth.weight + window->height.weight + window->width.weight;
    input += window->depth.input + window->height.input + window->width.input;
    for (int32_t group = 0; group < op->groups; ++group)
        for (int32_t out = 0; out < op->output_channels; ++out) {
            float sum = sum_of_group(op, window, input + group * op->input_group,
                                     weights + group * op->weight_group + out * op->weight_output);
            if (bias != NULL)
                sum += bias[group * op->output_channels + out];
            output[group * op->output_group + out * op->output_channel] = sum;
        }
}

void cm_convolution_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_convolution_f32 *op = call->arguments;
    const struct cm_axis *depth = &op->depth, *height = &op->height, *width = &op->width;
    const float *input = cm_read(context, op->input);
    float *output = cm_write(context, op->output);
    struct window window;
    for (int32_t z = 0; z < depth->output; ++z) {
        window.depth = taps_of(depth, z);
        for (int32_t y = 0; y < height->output; ++y) {
            window.height = taps_of(height, y);
            for (int32_t x = 0; x < width->output; ++x) {
                window.width = taps_of(width, x);
                int32_t place = z * depth->output_step + y * height->output_step + x * width->output_step;
                for (int32_t n = 0; n < op->batch; ++n)
                    convolve(context, op, &window, input + n * op->input_batch,
                             output + n * op->output_batch + place);
            }
        }
    }
}
