/* Pools of images in any memory order; see compiler/cmcompiler/ops/float_pool.py. */
#include "cmrt/args/avg_pool_f32.h"
#include "cmrt/args/max_pool.h"
#include "cmrt/element.h"
#include "cmrt/program.h"

/* The inputs that one output covers along an axis. */
struct stretch {
    int32_t first, count, size;
};

/* The taps of one place, in all channels, and the steps from one to the next. */
struct taps {
    struct stretch rows, columns;
    int32_t row_step, column_step;
};

/* Computes an output; offsets of its first tap and of itself. */
typedef void pool_function(const void *arguments, const struct taps *taps, const void *input, int32_t first,
                           void *output, int32_t place);

/* Inlined, so that each pool has loops of its own. */
static inline __attribute__((always_inline)) void pool_images(const struct cm_context *context,
                                                              const struct cm_images *images,
                                                              const void *arguments, pool_function *pool)
{
    const struct stretch *rows = cm_read(context, images->row_table);
    const struct stretch *columns = cm_read(context, images->column_table);
    const void *input = cm_read(context, images->input);
    void *output = cm_write(context, images->output);
    for (int32_t y = 0; y < images->rows; ++y)
        for (int32_t x = 0; x < images->columns; ++x) {
            const struct taps taps = {
                .rows = rows[y],
                .columns = columns[x],
                .row_step = images->row_dilation * images->input_rows,
                .column_step = images->column_dilation * images->input_columns,
            };
            for (int32_t n = 0; n < images->batch; ++n) {
                int32_t first = n * images->input_batch + rows[y].first * images->input_rows +
                                columns[x].first * images->input_columns;
                int32_t place =
                    n * images->output_batch + y * images->output_rows + x * images->output_columns;
                for (int32_t c = 0; c < images->channels; ++c) {
                    pool(arguments, &taps, input, first, output, place);
                    first += images->input_channels;
                    place += images->output_channels;
                }
            }
        }
}

static inline void average(const void *arguments, const struct taps *taps, const void *input, int32_t first,
                           void *output, int32_t place)
{
    const struct cm_avg_pool_f32 *op = arguments;
    const float *row = (const float *)input + first;
    float sum = 0;
    for (int32_t y = taps->rows.count; y > 0; --y, row += taps->row_step) {
        const float *tap = row;
        for (int32_t x = taps->columns.count; x > 0; --x, tap += taps->column_step)
            sum += *tap;
    }
    int32_t divisor = op->divisor != 0 ? op->divisor : taps->rows.size * taps->columns.size;
    ((float *)output)[place] = sum / (float)divisor;
}

void cm_avg_pool_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_avg_pool_f32 *op = call->arguments;
    pool_images(context, &op->images, op, average);
}

/* The index in its image of the tap at (x, y) of an output. */
static int64_t index_of(const struct cm_max_pool *op, const struct taps *taps, int32_t y, int32_t x)
{
    int32_t row = taps->rows.first + y * op->images.row_dilation;
    int32_t column = taps->columns.first + x * op->images.column_dilation;
    return row * op->image_width + column;
}

static inline void float_maximum(const void *arguments, const struct taps *taps, const void *input,
                                 int32_t first, void *output, int32_t place)
{
    const struct cm_max_pool *op = arguments;
    const float *row = (const float *)input + first;
    float largest = *row;
    int32_t best_y = 0, best_x = 0;
    for (int32_t y = 0; y < taps->rows.count; ++y, row += taps->row_step) {
        const float *tap = row;
        for (int32_t x = 0; x < taps->columns.count; ++x, tap += taps->column_step)
            if (*tap > largest || *tap != *tap) {
                largest = *tap;
                best_y = y;
                best_x = x;
            }
    }
    if (op->of_places != 0)
        ((int64_t *)output)[place] = index_of(op, taps, best_y, best_x);
    else
        ((float *)output)[place] = largest;
}

void cm_max_pool_f32(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool *op = call->arguments;
    pool_images(context, &op->images, op, float_maximum);
}

static inline void integer_maximum(const void *arguments, const struct taps *taps, const void *input,
                                   int32_t first, void *output, int32_t place)
{
    const struct cm_max_pool *op = arguments;
    enum cm_element type = (enum cm_element)op->type;
    int64_t largest = cm_load(type, input, first);
    int32_t best_y = 0, best_x = 0;
    for (int32_t y = 0; y < taps->rows.count; ++y)
        for (int32_t x = 0; x < taps->columns.count; ++x) {
            int64_t value = cm_load(type, input, first + y * taps->row_step + x * taps->column_step);
            if (value > largest) {
                largest = value;
                best_y = y;
                best_x = x;
            }
        }
    if (op->of_places != 0)
        ((int64_t *)output)[place] = index_of(op, taps, best_y, best_x);
    else
        cm_store(type, output, place, largest);
}

void cm_max_pool_integer(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_max_pool *op = call->arguments;
    pool_images(context, &op->images, op, integer_maximum);
}
