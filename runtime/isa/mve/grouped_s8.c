/* Convolution in groups of few channels with MVE: strips as of strip_conv2d.c, one for each group, all filled
   at once; each is then a matrix product. */
#include "cmrt/isa.h"
#include "cmrt/taps.h"
#include "deep_product.h"

#include <arm_mve.h>
#include <string.h>

enum { VECTOR = 16, WORD = 4, SHALLOW = 2 * CHUNK /* depths */ };

/* A product whose columns are four filters of each group, with rows of its own for each four: those of the
   next group are `advance` bytes further. */
struct joined_groups {
    struct cm_gemm gemm;
    int32_t advance, each;
};

/* Where the assembly finds `advance`. */
struct joined_product {
    struct product product;
    int32_t unused[3];
    int32_t advance;
};
_Static_assert(offsetof(struct joined_product, advance) == 112, "used in assembly");

void cm_mve_start_groups(struct joined_product *joined, const struct joined_groups *groups);

__attribute__((used)) void cm_mve_start_groups(struct joined_product *joined,
                                               const struct joined_groups *groups)
{
    cm_mve_start_product(&joined->product, &groups->gemm);
    joined->product.out_rewind += groups->each - COLUMNS;
    joined->advance = groups->advance;
}

void cm_mve_multiply_groups(const struct joined_groups *groups, product_loop *loop);

/* clang-format off */
#define NEXT_GROUP \
    "ldr r9, [sp, #112]\n" \
    "add r3, r9\n" \
    "add r5, r9\n" \
    "strd r3, r5, [sp, #64]\n"

DEEP_LOOP_FROM(cm_mve_multiply_groups_half_up, HALF_UP, NEXT_GROUP, "", "");
DEEP_LOOP_FROM(cm_mve_multiply_groups_right, RIGHT, NEXT_GROUP, "", "");
PRODUCT_ENTRY(cm_mve_multiply_groups, cm_mve_start_groups);
/* clang-format on */

/* The strips of all groups.

   pitch: bytes of a column, whose pixels follow each other.
   bytes: of a strip. */
struct strips {
    int8_t *start;
    int32_t group, pitch, bytes;
};

/* From a group's first word in a strip to the words of a vector of channels from `channel` on. */
static inline uint32x4_t find_words(const struct strips *strips, int32_t channel)
{
    uint32_t words[VECTOR / WORD];
    int32_t group = channel / strips->group, within = channel % strips->group;
    for (int32_t i = 0; i < VECTOR / WORD; ++i, within += WORD) {
        if (within == strips->group) {
            within = 0;
            ++group;
        }
        words[i] = (uint32_t)(group * strips->bytes + within);
    }
    return vldrwq_u32(words);
}

/* Pixels that are `step` bytes apart: the words of one vector of their channels. */
#define SPREAD(store)                                                                                        \
    __asm volatile("wls lr, %[count], 2f\n"                                                                  \
                   "1:\n"                                                                                    \
                   "vldrw.32 q0, [%[in]]\n"                                                                  \
                   "add %[in], %[step]\n" store " q0, [%[out], %q[words]]\n"                                 \
                   "add %[out], %[pitch]\n"                                                                  \
                   "le lr, 1b\n"                                                                             \
                   "2:\n"                                                                                    \
                   : [in] "+r"(in), [out] "+r"(out)                                                          \
                   : [count] "r"(count), [step] "r"(step), [pitch] "r"(strips->pitch), [words] "w"(words),   \
                     [rest] "r"(channels / WORD)                                                             \
                   : "q0", "lr", "memory")

/* `count` pixels: so many of their channels, in as many strips as these need. Up to 12 bytes after the last
   one are read. Returns the place of the next column. */
static inline int8_t *spread(const struct strips *strips, int8_t *out, uint32x4_t words, int32_t channels,
                             const int8_t *in, int32_t step, int32_t count)
{
    if (channels >= VECTOR)
        SPREAD("vstrw.32");
    else
        SPREAD("vctp.32 %[rest]\nvpst\nvstrwt.32");
    return out;
}

/* The columns that windows with these rows cover; zero points outside of the image. */
static void fill(const struct cm_depthwise *d, const struct strips *strips, const int32_t *rows,
                 const struct cm_columns *columns)
{
    const int32_t channels = d->input_channels, first = (columns->first + columns->before) * channels;
    int8_t padding[VECTOR];
    memset(padding, d->input_zero_point, sizeof padding);
    for (int32_t c = 0; c < channels; c += VECTOR) {
        const uint32x4_t words = find_words(strips, c);
        int8_t *start = strips->start;
        for (int32_t ky = 0; ky < d->kernel_height; ++ky, start += strips->group) {
            const int32_t row = rows[ky * d->dilation_height];
            const bool is_inside = row != CM_NO_ROW;
            int8_t *out = spread(strips, start, words, channels - c, padding, 0, columns->before);
            out = spread(strips, out, words, channels - c, is_inside ? d->input + row + first + c : padding,
                         is_inside ? channels : 0, columns->inside);
            spread(strips, out, words, channels - c, padding, 0, columns->after);
        }
    }
}

/* From a block of a group's filters to that of the next group, and to the group's next one. Blocks of four
   lie side by side for all groups. */
struct weights {
    int32_t group, next_group, next_block;
    int8_t blocks[];
};

/* One row of windows, in strips. */
static inline __attribute__((always_inline)) void
multiply_strips(const struct strips *strips, const struct weights *weights, struct joined_groups *joined,
                int32_t groups, void (*multiply)(const struct cm_gemm *), product_loop *loop)
{
    struct cm_gemm *const gemm = &joined->gemm;
    gemm->lhs = strips->start;
    gemm->weights = weights->blocks;
    if (gemm->depth > SHALLOW && joined->each % COLUMNS == 0) {
        gemm->columns = COLUMNS * groups;
        for (int32_t f = 0; f < joined->each; f += COLUMNS) {
            cm_mve_multiply_groups(joined, loop);
            gemm->weights = (const int8_t *)gemm->weights + weights->next_block;
            gemm->out += COLUMNS;
        }
        return;
    }
    gemm->columns = joined->each;
    for (int32_t g = 0; g < groups; ++g) {
        multiply(gemm);
        gemm->lhs += strips->bytes;
        gemm->weights = (const int8_t *)gemm->weights + weights->next_group;
        gemm->out += joined->each;
    }
}

static inline __attribute__((always_inline)) void
convolve(const struct cm_depthwise *d, void (*multiply)(const struct cm_gemm *), product_loop *loop)
{
    const struct weights *const weights = d->weights;
    const int32_t groups = d->input_channels / weights->group;
    struct strips strips = {d->workspace, weights->group, d->kernel_height * weights->group, 0};
    struct joined_groups joined = {
        .gemm =
            {
                .lhs_stride = d->stride_width * strips.pitch,
                .depth = d->kernel_width * strips.pitch,
                .out_stride = d->channels,
                .output = d->output,
            },
        .each = d->channels / groups,
    };
    for (int32_t x = 0; x < d->out_width; x += d->chunk) {
        joined.gemm.rows = d->out_width - x < d->chunk ? d->out_width - x : d->chunk;
        const struct cm_columns columns = cm_covered_columns(d, d->kernel_width, x, joined.gemm.rows);
        joined.advance = strips.bytes = (columns.before + columns.inside + columns.after) * strips.pitch;
        for (int32_t r = 0; r < d->band; ++r) {
            fill(d, &strips, d->input_rows + r * d->stride_height, &columns);
            joined.gemm.out = d->out + d->out_rows[r] + x * d->channels;
            multiply_strips(&strips, weights, &joined, groups, multiply, loop);
        }
    }
}

void cm_isa_grouped_s8(const struct cm_depthwise *d)
{
    convolve(d, cm_isa_gemm_s8, cm_mve_multiply_groups_right);
}

void cm_isa_grouped_s8_half_up(const struct cm_depthwise *d)
{
    convolve(d, cm_isa_gemm_s8_half_up, cm_mve_multiply_groups_half_up);
}
