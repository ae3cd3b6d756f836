/* Pools of images in any memory order; see compiler/cmcompiler/ops/float_pool.py. */
#include "cmrt/element.h"
#include "cmrt/program.h"

#include <stdbool.h>

/* The inputs that one output covers along an axis. */
struct stretch {
    int32_t first, count, size;
};

/* Steps in elements. */
struct cm_images {
    cm_ref input, output;
    cm_ref row_table, column_table; /* a struct stretch for each output row and column */
    int32_t row_dilation, column_dilation;
    int32_t batch, channels, rows, columns; /* of the output */
    int32_t input_batch, input_channels, input_rows, input_columns;
    int32_t output_batch, output_channels, output_rows, output_columns;
};

/* One output: the inputs it covers, of which channel and image, and its address. */
struct place {
    struct stretch rows, columns;
    int32_t channel, output; /* offsets */
};

typedef void pool_function(const struct cm_context *context, const void *arguments,
                           const struct place *place);

static void pool_rows(const struct cm_context *context, const struct cm_images *images, const void *arguments,
                      struct place place, pool_function *pool)
{
    const struct stretch *rows = cm_read(context, images->row_table);
    const struct stretch *columns = cm_read(context, images->column_table);
    int32_t first = place.output;
    for (int32_t y = 0; y < images->rows; ++y)
        for (int32_t x = 0; x < images->columns; ++x) {
            place.rows = rows[y];
            place.columns = columns[x];
            place.output = first + y * images->output_rows + x * images->output_columns;
            pool(context, arguments, &place);
        }
}

static void pool_images(const struct cm_context *context, const struct cm_images *images,
                        const void *arguments, pool_function *pool)
{
    for (int32_t n = 0; n < images->batch; ++n)
        for (int32_t c = 0; c < images->channels; ++c) {
            const struct place place = {
                .channel = n * images->input_batch + c * images->input_channels,
                .output = n * images->output_batch + c * images->output_channels,
            };
            pool_rows(context, images, arguments, place, pool);
        }
}

/* A tap's row and column in the image, and its offset. */
struct tap {
    int32_t row, column, offset;
};

static struct tap tap_at(const struct cm_images *images, const struct place *place, int32_t y, int32_t x)
{
    int32_t row = place->rows.first + y * images->row_dilation;
    int32_t column = place->columns.first + x * images->column_dilation;
    int32_t offset = place->channel + row * images->input_rows + column * images->input_columns;
    return (struct tap){row, column, offset};
}

struct cm_avg_pool_f32 {
    struct cm_images images;
    int32_t divisor; /* 0: the number of inputs covered */
};

static void average(const struct cm_context *context, const void *arguments, const struct place *place)
{
    const struct cm_avg_pool_f32 *op = arguments;
    const float *input = cm_read(context, op->images.input);
    float *output = cm_write(context, op->images.output), sum = 0;
    for (int32_t y = 0; y < place->rows.count; ++y)
        for (int32_t x = 0; x < place->columns.count; ++x)
            sum += input[tap_at(&op->images, place, y, x).offset];
    int32_t divisor = op->divisor != 0 ? op->divisor : place->rows.size * place->columns.size;
    output[place->output] = sum / (float)divisor;
}

void cm_avg_pool_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_avg_pool_f32 *op = call->arguments;
    pool_images(context, &op->images, op, average);
}

struct cm_max_pool {
    struct cm_images images;
    int32_t image_width;
    int32_t type;      /* enum cm_element */
    int32_t of_places; /* returns the index of the tap in its image, as int64 */
};

static void float_maximum(const struct cm_context *context, const void *arguments, const struct place *place)
{
    const struct cm_max_pool *op = arguments;
    const float *input = cm_read(context, op->images.input);
    struct tap best = tap_at(&op->images, place, 0, 0);
    for (int32_t y = 0; y < place->rows.count; ++y)
        for (int32_t x = 0; x < place->columns.count; ++x) {
            struct tap tap = tap_at(&op->images, place, y, x);
            float value = input[tap.offset];
            if (value > input[best.offset] || value != value)
                best = tap;
        }
    void *output = cm_write(context, op->images.output);
    if (op->of_places != 0)
        ((int64_t *)output)[place->output] = best.row * op->image_width + best.column;
    else
        ((float *)output)[place->output] = input[best.offset];
}

void cm_max_pool_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool *op = call->arguments;
    pool_images(context, &op->images, op, float_maximum);
}

static void integer_maximum(const struct cm_context *context, const void *arguments,
                            const struct place *place)
{
    const struct cm_max_pool *op = arguments;
    const void *input = cm_read(context, op->images.input);
    enum cm_element type = (enum cm_element)op->type;
    struct tap best = tap_at(&op->images, place, 0, 0);
    int64_t largest = cm_load(type, input, best.offset);
    for (int32_t y = 0; y < place->rows.count; ++y)
        for (int32_t x = 0; x < place->columns.count; ++x) {
            struct tap tap = tap_at(&op->images, place, y, x);
            int64_t value = cm_load(type, input, tap.offset);
            if (value > largest) {
                largest = value;
                best = tap;
            }
        }
    void *output = cm_write(context, op->images.output);
    if (op->of_places != 0)
        ((int64_t *)output)[place->output] = best.row * op->image_width + best.column;
    else
        cm_store(type, output, place->output, largest);
}

void cm_max_pool_integer(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool *op = call->arguments;
    pool_images(context, &op->images, op, integer_maximum);
}
