/* Microkernels that only count what they are asked for, in place of all real ones; see counting.py. */
#include "cmrt/add_rows.h"
#include "cmrt/attention.h"
#include "cmrt/bilinear.h"
#include "cmrt/change_scale.h"
#include "cmrt/copy.h"
#include "cmrt/dot.h"
#include "cmrt/elementwise.h"
#include "cmrt/elementwise_f32.h"
#include "cmrt/exp.h"
#include "cmrt/extreme.h"
#include "cmrt/gates.h"
#include "cmrt/isa.h"
#include "cmrt/norm.h"
#include "cmrt/normalization.h"
#include "cmrt/softmax.h"
#include "cmrt/sum_groups.h"

/* `cmrt/pool.h` has another struct of this name. */
#define cm_windows cm_pool_windows_of
#include "cmrt/pool.h"
#include "cmrt/short_pixel.h"
#undef cm_windows

/* As class Counts in counting.py. */
struct counts {
    int64_t portions, columns, macs, outputs, taps, segments, lines;
} counts;

static void product(const struct cm_gemm *gemm)
{
    int64_t outputs = (int64_t)gemm->rows * gemm->columns;
    ++counts.portions;
    counts.columns += gemm->columns;
    counts.macs += outputs * gemm->depth;
    counts.outputs += outputs;
}

#define PRODUCT(name)                                                                                        \
    void cm_isa_##name(const struct cm_gemm *gemm)                                                           \
    {                                                                                                        \
        product(gemm);                                                                                       \
    }
#define GENERAL_TOO(name) PRODUCT(name) PRODUCT(name##_general)
#define HALF_UP_TOO(name) PRODUCT(name) PRODUCT(name##_half_up)
GENERAL_TOO(gemm_s8)
PRODUCT(gemm_s8_half_up)
HALF_UP_TOO(gemm_s8_shallow)
HALF_UP_TOO(gemm_s8_shallow_dense)
HALF_UP_TOO(gemm_s8_deep)
PRODUCT(gemm_s8_dense_64_half_up)
PRODUCT(gemm_s8_dense_128_half_up)
GENERAL_TOO(gemm_s8_apart)
GENERAL_TOO(gemm_s8_g4_apart)
GENERAL_TOO(gemm_s8_w16)
GENERAL_TOO(gemm_s8_w4)
PRODUCT(gemm_s8_w4_half_up)
HALF_UP_TOO(gemm_s8_w4_64)
HALF_UP_TOO(gemm_s8_w4_128)
GENERAL_TOO(gemv_s8_w4)
GENERAL_TOO(gemm_s8_g4)
PRODUCT(gemm_s8_g4_half_up)
GENERAL_TOO(gemv_s8_g4)
GENERAL_TOO(gemv_s8)
GENERAL_TOO(gemv_s8_long)
GENERAL_TOO(gemv_s8_w16)

void cm_isa_gemm_s8_cut(const struct cm_cut_gemm *gemm)
{
    product(&gemm->product);
}

void cm_isa_gemm_s8_w4_cut(const struct cm_cut_gemm *gemm)
{
    product(&gemm->product);
}

/* Depth and columns of int16 are bytes. */
static void short_product(const struct cm_gemm *gemm)
{
    struct cm_gemm elements = *gemm;
    elements.depth /= 2;
    elements.columns /= 2;
    product(&elements);
}

#define SHORT_PRODUCT(name)                                                                                  \
    void cm_isa_##name(const struct cm_gemm *gemm)                                                           \
    {                                                                                                        \
        short_product(gemm);                                                                                 \
    }
SHORT_PRODUCT(gemm_s16)
SHORT_PRODUCT(gemm_s16_long)
SHORT_PRODUCT(gemm_s16_w4)
SHORT_PRODUCT(gemm_s16_long_w4)

void cm_isa_gemm_s16_cut(const struct cm_cut_gemm *gemm)
{
    short_product(&gemm->product);
}

#define ODD_PRODUCT(name)                                                                                    \
    void cm_isa_##name(const struct cm_gemm *gemm, struct cm_odd_rows *windows)                              \
    {                                                                                                        \
        struct cm_gemm four = *gemm;                                                                         \
        (void)windows, four.rows = CM_PACKED_ROWS;                                                           \
        for (int32_t left = gemm->rows; left > 0; left -= CM_PACKED_ROWS)                                    \
            product(&four);                                                                                  \
    }
ODD_PRODUCT(gemm_s8_odd)
ODD_PRODUCT(gemm_s8_odd_apart)
ODD_PRODUCT(gemm_s8_odd_w16)

void cm_isa_matmul_s8(const struct cm_matmul *matmul)
{
    int64_t outputs = (int64_t)matmul->batch * matmul->rows * matmul->columns;
    counts.macs += outputs * matmul->depth;
    counts.outputs += outputs;
}

void cm_isa_copy_pixels_s8(int8_t *out, int32_t stride, const int8_t *in, int32_t bytes, int32_t count)
{
    (void)out, (void)stride, (void)in, (void)bytes, (void)count;
    ++counts.lines;
}

void cm_isa_copy_windows_s8(const struct cm_windows *windows)
{
    counts.segments += (int64_t)windows->rows * windows->count;
}

static void depthwise(const struct cm_depthwise *d)
{
    int64_t outputs = (int64_t)d->band * d->out_width * d->channels;
    ++counts.portions;
    counts.macs += outputs * d->kernel_height * d->kernel_width;
    counts.outputs += outputs;
}

#define DEPTHWISE(name)                                                                                      \
    void cm_isa_depthwise_##name(const struct cm_depthwise *d)                                               \
    {                                                                                                        \
        depthwise(d);                                                                                        \
    }
DEPTHWISE(s8)
DEPTHWISE(s8_divided)
DEPTHWISE(narrow_s8)
DEPTHWISE(affine_s8)
DEPTHWISE(shared_s8)
DEPTHWISE(5x5_s8)
DEPTHWISE(long_s8)
DEPTHWISE(long_s8_half_up)
DEPTHWISE(3x3_s8)
DEPTHWISE(3x3_s8_half_up)
DEPTHWISE(3x3_s8_row)
DEPTHWISE(3x3_s8_row_half_up)
DEPTHWISE(3x3_s8_stride_2)
DEPTHWISE(3x3_s8_stride_2_half_up)

/* Channels of int16 are bytes. */
#define SHORT_DEPTHWISE(name)                                                                                \
    void cm_isa_depthwise_##name(const struct cm_depthwise *d)                                               \
    {                                                                                                        \
        struct cm_depthwise elements = *d;                                                                   \
        elements.channels /= 2;                                                                              \
        depthwise(&elements);                                                                                \
    }
SHORT_DEPTHWISE(3x3_s16)
SHORT_DEPTHWISE(3x3_s16_rectified)
SHORT_DEPTHWISE(3x3_s16_stride_2)
SHORT_DEPTHWISE(3x3_s16_stride_2_rectified)

void cm_isa_grouped_s8(const struct cm_depthwise *d)
{
    int64_t before = counts.macs;
    depthwise(d);
    counts.macs += (counts.macs - before) * (*(const int32_t *)d->weights - 1);
}

void cm_isa_grouped_s8_half_up(const struct cm_depthwise *d)
{
    cm_isa_grouped_s8(d);
}

static void pool(const struct cm_pool_windows_of *windows)
{
    int64_t outputs = (int64_t)windows->pixels * windows->channels;
    counts.taps += outputs * windows->row_count * windows->column_count;
    counts.outputs += outputs;
}

void cm_isa_avg_window_s8(const struct cm_pool_windows_of *windows)
{
    pool(windows);
}

void cm_isa_max_window_s8(const struct cm_pool_windows_of *windows, int32_t minimum, int32_t maximum)
{
    (void)minimum, (void)maximum;
    pool(windows);
}

void cm_isa_add_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t *sums)
{
    (void)rows, (void)sums;
    counts.taps += (int64_t)count * length;
}

void cm_isa_sum_groups_s8(const int8_t *in, int32_t groups, int32_t members, int32_t *sums)
{
    (void)in, (void)sums;
    counts.taps += (int64_t)groups * members;
}

void cm_isa_scale_sums_s8(const struct cm_sum_scale *scale, const int32_t *sums, int8_t *out, int32_t count)
{
    (void)scale, (void)sums, (void)out;
    counts.outputs += count;
}

void cm_isa_extreme_rows_s8(const int8_t *rows, int32_t count, int32_t length, int32_t flip, int8_t *extremes)
{
    (void)rows, (void)flip, (void)extremes;
    counts.taps += (int64_t)count * length;
}

void cm_isa_attention_s8(const struct cm_attention *attention)
{
    int64_t seen = 0;
    for (int32_t row = 0; row < attention->rows; ++row)
        seen += cm_attention_visible(attention, row);
    counts.macs += seen * (attention->depth + attention->width);
    counts.outputs += (int64_t)attention->rows * attention->width;
}

void cm_isa_bilinear_row_s8(const struct cm_bilinear_row *row)
{
    counts.outputs += (int64_t)row->width * row->channels;
}

void cm_isa_copy_strided(const uint8_t *in, int32_t in_step, uint8_t *out, int32_t out_step, int32_t size,
                         int32_t count)
{
    (void)in, (void)in_step, (void)out, (void)out_step, (void)size;
    counts.outputs += count;
}

void cm_isa_dot_f32(const struct cm_dot *dot)
{
    int64_t outputs = (int64_t)dot->row_count * dot->lane_count;
    counts.macs += outputs * dot->tap_count * dot->blocks;
    counts.outputs += outputs;
}

#define PAIR(name, type)                                                                                     \
    void cm_isa_##name(const type *lhs, const type *rhs, int32_t rhs_step, type *out, int32_t count)         \
    {                                                                                                        \
        (void)lhs, (void)rhs, (void)rhs_step, (void)out;                                                     \
        counts.outputs += count;                                                                             \
    }
#define PAIR_BY(name, type, parameters)                                                                      \
    void cm_isa_##name(const struct parameters *by, const type *lhs, const type *rhs, int32_t rhs_step,      \
                       type *out, int32_t count)                                                             \
    {                                                                                                        \
        (void)by, (void)lhs, (void)rhs, (void)rhs_step, (void)out;                                           \
        counts.outputs += count;                                                                             \
    }
PAIR(minimum_s8, int8_t)
PAIR(maximum_s8, int8_t)
PAIR_BY(add_s8, int8_t, cm_sum)
PAIR_BY(add_affine_s8, int8_t, cm_affine)
PAIR_BY(add_tabled_s8, int8_t, cm_tabled_sum)
PAIR_BY(squared_difference_s8, int8_t, cm_squared_difference)
PAIR_BY(quotient_s8, int8_t, cm_quotient)
PAIR_BY(div_tabled_s8, int8_t, cm_tabled_quotient)
PAIR_BY(mul_s8, int8_t, cm_product)
PAIR_BY(mul_right_s8, int8_t, cm_product)
PAIR(minimum_s16, int16_t)
PAIR(maximum_s16, int16_t)
PAIR_BY(add_s16, int16_t, cm_sum)
PAIR_BY(mul_s16, int16_t, cm_short_product)
PAIR_BY(squared_difference_s16, int16_t, cm_short_difference)

void cm_isa_binary_bytes(const struct cm_byte_function *function, struct cm_byte_operands bytes, uint8_t *out,
                         int32_t count)
{
    (void)function, (void)bytes, (void)out;
    counts.outputs += count;
}

void cm_isa_choose_bytes(const uint8_t *condition, int32_t condition_step, struct cm_byte_operands bytes,
                         uint8_t *out, int32_t count)
{
    (void)condition, (void)condition_step, (void)bytes, (void)out;
    counts.outputs += count;
}

void cm_isa_change_scale(const struct cm_change_scale *op, const void *in, void *out)
{
    (void)in, (void)out;
    counts.outputs += op->count;
}

void cm_isa_lookup_s8(const int8_t *in, const int8_t *table, int8_t *out, int32_t count)
{
    (void)in, (void)table, (void)out;
    counts.outputs += count;
}

void cm_isa_prelu_s8(const struct cm_slopes *slopes, const int8_t *in, int8_t *out, int32_t channels,
                     int32_t rows)
{
    (void)slopes, (void)in, (void)out;
    counts.outputs += rows * channels;
}

void cm_isa_quantize_s8(const struct cm_quantize_parameters *to, const float *in, int8_t *out, int32_t count)
{
    (void)to, (void)in, (void)out;
    counts.outputs += count;
}

void cm_isa_dequantize_s8(const int8_t *in, int32_t zero_point, float scale, float *out, int32_t count)
{
    (void)in, (void)zero_point, (void)scale, (void)out;
    counts.outputs += count;
}

void cm_isa_arithmetic_f32(enum cm_arithmetic function, struct cm_floats floats, int32_t count)
{
    (void)function, (void)floats;
    counts.outputs += count;
}

void cm_isa_clamp_f32(float low, float high, const float *in, float *out, int32_t count)
{
    (void)low, (void)high, (void)in, (void)out;
    counts.outputs += count;
}

void cm_isa_exp_f32(const float *in, float less, float *out, int32_t count)
{
    (void)in, (void)less, (void)out;
    counts.outputs += count;
}

void cm_isa_moments_s8(const int8_t *in, const struct cm_norm_group *group, int32_t *sum, int32_t *squares)
{
    (void)in, (void)sum, (void)squares;
    counts.taps += (int64_t)group->channels * group->pixels;
}

void cm_isa_norm_s8(const struct cm_norm *norm, const struct cm_norm_group *group, const int8_t *in,
                    const int32_t *multipliers, const int32_t *biases, int8_t *out)
{
    (void)norm, (void)in, (void)multipliers, (void)biases, (void)out;
    counts.outputs += (int64_t)group->channels * group->pixels;
}

void cm_isa_moments_f32(const float *x, int32_t groups, int32_t count, struct cm_moments *moments)
{
    (void)x, (void)moments;
    counts.taps += (int64_t)groups * count;
}

void cm_isa_normalize_f32(const struct cm_normalized *by, const float *in, float *out, int32_t count)
{
    (void)by, (void)in, (void)out;
    counts.outputs += count;
}

void cm_isa_softmax_s8(const int8_t *in, const int32_t *exponentials, int8_t *out, int32_t length,
                       int32_t finer_bits)
{
    (void)in, (void)exponentials, (void)out, (void)finer_bits;
    counts.outputs += length;
}

void cm_isa_gemv_s16(const struct cm_gate_weights *weights, const int8_t *row, int16_t *gates,
                     void *workspace)
{
    (void)row, (void)gates, (void)workspace;
    counts.macs += (int64_t)weights->gates * weights->depth;
}

void cm_isa_gemv_s16_w4(const struct cm_gate_weights *weights, const int8_t *row, int16_t *gates,
                        void *workspace)
{
    cm_isa_gemv_s16(weights, row, gates, workspace);
}

int32_t cm_isa_filter_s16(const int16_t *from, int16_t *to, const int16_t *weights, int32_t count,
                          int32_t sum)
{
    (void)from, (void)to, (void)weights;
    counts.macs += count;
    return sum;
}

#define STEP(name, type)                                                                                     \
    void cm_isa_##name(const struct type *step)                                                              \
    {                                                                                                        \
        counts.outputs += step->units;                                                                       \
    }
STEP(lstm_step_s8, cm_lstm_step)
STEP(lstm_step_clipped_s8, cm_lstm_step)
STEP(gru_step_s8, cm_gru_step)

void cm_isa_rnn_step_s8(const int16_t *gates, const struct cm_gate_entry *table,
                        const struct cm_narrowing *narrowing, int8_t *out, int32_t units)
{
    (void)gates, (void)table, (void)narrowing, (void)out;
    counts.outputs += units;
}

void cm_isa_depthwise_s16(const struct cm_short_pixel *pixel)
{
    counts.macs += (int64_t)pixel->channels * pixel->height * pixel->width;
    counts.outputs += pixel->channels;
}
