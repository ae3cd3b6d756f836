/* Means and variances with MVE: a group in each lane. */
#include "cmrt/flush.h"
#include "cmrt/normalization.h"

/* q0 = sums of what `term` makes of an element of each group in q1. */
#define SUM(term)                                                                                            \
    "vmov.i32 q0, #0\n"                                                                                      \
    "dls lr, %[count]\n"                                                                                     \
    "1:\n"                                                                                                   \
    "vldrw.u32 q1, [%[x], q7]\n"                                                                             \
    "add %[x], #4\n" term "vadd.f32 q0, q0, q1\n"                                                            \
    "le lr, 1b\n"                                                                                            \
    "vstrw.32 q0, [%[sums]]\n"

static void compute(const float *x, const uint32_t *offsets, int32_t count, struct cm_moments *moments,
                    int32_t groups)
{
    float sums[CM_MOMENTS_GROUPS], means[CM_MOMENTS_GROUPS];
    const float *at = x;
    __asm volatile("vldrw.u32 q7, [%[offsets]]\n" SUM("")
                   : [x] "+r"(at)
                   : [offsets] "r"(offsets), [count] "r"(count), [sums] "r"(sums)
                   : "q0", "q1", "q7", "lr", "memory");
    for (int32_t i = 0; i < CM_MOMENTS_GROUPS; ++i)
        means[i] = sums[i] / (float)count;
    at = x;
    __asm volatile("vldrw.u32 q7, [%[offsets]]\n"
                   "vldrw.u32 q2, [%[means]]\n" SUM("vsub.f32 q1, q1, q2\n"
                                                    "vmul.f32 q1, q1, q1\n")
                   : [x] "+r"(at)
                   : [offsets] "r"(offsets), [count] "r"(count), [sums] "r"(sums), [means] "r"(means)
                   : "q0", "q1", "q2", "q7", "lr", "memory");
    for (int32_t i = 0; i < groups; ++i)
        moments[i] = (struct cm_moments){means[i], sums[i] / (float)count};
}

void cm_isa_moments_f32(const float *x, int32_t groups, int32_t count, struct cm_moments *moments)
{
    uint32_t offsets[CM_MOMENTS_GROUPS];
    for (int32_t i = 0; i < CM_MOMENTS_GROUPS; ++i)
        offsets[i] = (uint32_t)((i < groups ? i : 0) * count) * sizeof(float);
    cm_start_watch();
    compute(x, offsets, count, moments, groups);
    if (!cm_has_flushed())
        return;
    for (int32_t i = 0; i < groups; ++i)
        moments[i] = cm_moments_of(x + i * count, count);
}
