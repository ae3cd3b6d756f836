#include "cmrt/norm.h"

#include <arm_mve.h>

/* Elements of a vector of bytes, and of words. */
#define BYTES 16
#define WORDS 4

static void add_run(const int8_t *in, int32_t count, int32_t *sum, int32_t *squares)
{
    int32_t total = *sum, total_squares = *squares;
    __asm volatile("dlstp.8 lr, %[count]\n"
                   "1:\n"
                   "vldrb.8 q0, [%[in]], #16\n"
                   "vaddva.s8 %[total], q0\n"
                   "vmladava.s8 %[total_squares], q0, q0\n"
                   "letp lr, 1b\n"
                   : [in] "+r"(in), [total] "+Te"(total), [total_squares] "+Te"(total_squares)
                   : [count] "r"(count)
                   : "q0", "lr", "memory");
    *sum = total;
    *squares = total_squares;
}

/* Pixels of up to 16 channels. */
static void add_pixels(const int8_t *in, const struct cm_norm_group *group, int32_t *sum, int32_t *squares)
{
    int32_t total = *sum, total_squares = *squares;
    __asm volatile("vctp.8 %[channels]\n"
                   "dls lr, %[pixels]\n"
                   "1:\n"
                   "vpst\n"
                   "vldrbt.u8 q0, [%[in]]\n"
                   "add %[in], %[step]\n"
                   "vaddva.s8 %[total], q0\n"
                   "vmladava.s8 %[total_squares], q0, q0\n"
                   "le lr, 1b\n"
                   : [in] "+r"(in), [total] "+Te"(total), [total_squares] "+Te"(total_squares)
                   : [channels] "r"(group->channels), [pixels] "r"(group->pixels), [step] "r"(group->step)
                   : "q0", "lr", "memory", "cc");
    *sum = total;
    *squares = total_squares;
}

/* One channel of pixels, four at a time. */
static void add_channel(const int8_t *in, const struct cm_norm_group *group, int32_t *sum, int32_t *squares)
{
    int32_t total = *sum, total_squares = *squares;
    __asm volatile("dlstp.32 lr, %[pixels]\n"
                   "1:\n"
                   "vldrb.s32 q0, [%[in], %q[places]]\n"
                   "add %[in], %[far]\n"
                   "vaddva.s32 %[total], q0\n"
                   "vmladava.s32 %[total_squares], q0, q0\n"
                   "letp lr, 1b\n"
                   : [in] "+r"(in), [total] "+Te"(total), [total_squares] "+Te"(total_squares)
                   : [pixels] "r"(group->pixels), [far] "r"(WORDS * group->step),
                     [places] "w"(vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)group->step))
                   : "q0", "lr", "memory");
    *sum = total;
    *squares = total_squares;
}

void cm_isa_moments_s8(const int8_t *in, const struct cm_norm_group *group, int32_t *sum, int32_t *squares)
{
    if (group->channels == group->step) {
        add_run(in, group->channels * group->pixels, sum, squares);
    } else if (group->channels == 1) {
        add_channel(in, group, sum, squares);
    } else if (group->channels <= BYTES) {
        add_pixels(in, group, sum, squares);
    } else {
        for (int32_t pixel = 0; pixel < group->pixels; ++pixel, in += group->step)
            add_run(in, group->channels, sum, squares);
    }
}

/* clang-format off */
#define NORMALIZE(multiplier, bias) \
    "vmlas.s32 q0, %q[factor], %[negative_offset]\n" \
    "vqrdmulh.s32 q0, q0, %[inverse]\n" \
    "vqrdmulh.s32 q0, q0, " multiplier "\n" \
    "vadd.i32 q0, q0, " bias "\n" \
    "vrshl.s32 q0, %[left]\n" \
    "vadd.i32 q0, q0, %q[zero_point]\n" \
    "vqmovnb.s32 q0, q0\n" \
    "vqmovnb.s16 q0, q0\n"
/* clang-format on */

#define NORM                                                                                                 \
    [factor] "w"(vdupq_n_s32(norm->factor)), [zero_point] "w"(vdupq_n_s32(norm->zero_point)),                \
        [negative_offset] "r"(-(uint32_t)norm->offset), [inverse] "r"(norm->inverse),                        \
        [left] "r"(-norm->shift)

static void normalize_run(const struct cm_norm *norm, const int8_t *in, const int32_t *multipliers,
                          const int32_t *biases, int8_t *out, int32_t count)
{
    __asm volatile("dlstp.32 lr, %[count]\n"
                   "1:\n"
                   "vldrb.s32 q0, [%[in]], #4\n"
                   "vldrw.s32 q1, [%[multipliers]], #16\n"
                   "vldrw.s32 q4, [%[biases]], #16\n" NORMALIZE("q1", "q4") "vstrb.32 q0, [%[out]], #4\n"
                                                                            "letp lr, 1b\n"
                   : [in] "+l"(in), [multipliers] "+r"(multipliers), [biases] "+r"(biases), [out] "+l"(out)
                   : NORM, [count] "r"(count)
                   : "q0", "q1", "q4", "lr", "memory");
}

/* Pixels of up to four channels. */
static void normalize_pixels(const struct cm_norm *norm, const struct cm_norm_group *group, const int8_t *in,
                             const int32_t *multipliers, const int32_t *biases, int8_t *out)
{
    __asm volatile("vctp.32 %[channels]\n"
                   "vpstt\n"
                   "vldrwt.s32 q1, [%[multipliers]]\n"
                   "vldrwt.s32 q4, [%[biases]]\n"
                   "dls lr, %[pixels]\n"
                   "1:\n"
                   "vpst\n"
                   "vldrbt.s32 q0, [%[in]]\n"
                   "add %[in], %[step]\n" NORMALIZE("q1", "q4") "vpst\n"
                                                                "vstrbt.32 q0, [%[out]]\n"
                                                                "add %[out], %[step]\n"
                                                                "le lr, 1b\n"
                   : [in] "+l"(in), [out] "+l"(out)
                   : NORM, [multipliers] "r"(multipliers), [biases] "r"(biases), [step] "r"(group->step),
                     [channels] "r"(group->channels), [pixels] "r"(group->pixels)
                   : "q0", "q1", "q4", "lr", "memory", "cc");
}

/* One channel of pixels, four at a time. */
static void normalize_channel(const struct cm_norm *norm, const struct cm_norm_group *group, const int8_t *in,
                              int32_t multiplier, int32_t bias, int8_t *out)
{
    __asm volatile(
        "dlstp.32 lr, %[pixels]\n"
        "1:\n"
        "vldrb.s32 q0, [%[in], %q[places]]\n"
        "add %[in], %[far]\n" NORMALIZE("%[multiplier]", "%[bias]") "vstrb.32 q0, [%[out], %q[places]]\n"
                                                                    "add %[out], %[far]\n"
                                                                    "letp lr, 1b\n"
        : [in] "+l"(in), [out] "+l"(out)
        : NORM, [multiplier] "r"(multiplier), [bias] "r"(bias), [far] "r"(WORDS * group->step),
          [pixels] "r"(group->pixels), [places] "w"(vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)group->step))
        : "q0", "lr", "memory");
}

void cm_isa_norm_s8(const struct cm_norm *norm, const struct cm_norm_group *group, const int8_t *in,
                    const int32_t *multipliers, const int32_t *biases, int8_t *out)
{
    if (group->channels == 1) {
        normalize_channel(norm, group, in, *multipliers, *biases, out);
    } else if (group->channels <= WORDS && group->pixels > 1) {
        normalize_pixels(norm, group, in, multipliers, biases, out);
    } else {
        for (int32_t pixel = 0; pixel < group->pixels; ++pixel, in += group->step, out += group->step)
            normalize_run(norm, in, multipliers, biases, out, group->channels);
    }
}
