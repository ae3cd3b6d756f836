/* Sigmoid and tanh by table, and int8 results, of eight numbers at a time. */
#ifndef GATE_FUNCTIONS_H
#define GATE_FUNCTIONS_H

#include "cmrt/gates.h"

#include <arm_mve.h>

static inline int16x8_t choose_sign(int16x8_t magnitude, int16x8_t sign_of)
{
    return vnegq_m_s16(magnitude, magnitude, vcmpltq_n_s16(sign_of, 0));
}

/* The high half of magnitude * factor is the entry's index, the low half the distance from it in 2^-16. */
static inline int16x8_t sigmoid(const struct cm_gate_entry *table, int16x8_t gate)
{
    const uint16_t factor = 3 << (16 - 9);
    uint16x8_t magnitude = vreinterpretq_u16_s16(vabsq_s16(gate));
    uint16x8_t place = vshlq_n_u16(vmulhq_u16(magnitude, vdupq_n_u16(factor)), 1);
    uint16x8_t base = vldrhq_gather_shifted_offset_u16(&table->base, place);
    uint16x8_t step = vldrhq_gather_shifted_offset_u16(&table->step, place);
    uint16x8_t added = vmulhq_u16(vmulq_n_u16(magnitude, factor), step);
    int16x8_t distance = vreinterpretq_s16_u16(vrhaddq_u16(base, added));
    return vaddq_n_s16(choose_sign(distance, gate), 1 << 14);
}

static inline int16x8_t hyperbolic_tangent(const struct cm_gate_entry *table, int16x8_t gate, int32_t left)
{
    const uint16_t factor = 3 << (16 - 8);
    uint16x8_t magnitude = vqshlq_r_u16(vreinterpretq_u16_s16(vabsq_s16(gate)), left);
    magnitude = vminq_u16(magnitude, vdupq_n_u16(CM_FARTHEST_TANH));
    uint16x8_t place = vshlq_n_u16(vmulhq_u16(magnitude, vdupq_n_u16(factor)), 1);
    uint16x8_t base = vldrhq_gather_shifted_offset_u16(&table->base, place);
    uint16x8_t step = vldrhq_gather_shifted_offset_u16(&table->step, place);
    uint16x8_t added = vrmulhq_u16(vmulq_n_u16(magnitude, factor), step);
    return choose_sign(vreinterpretq_s16_u16(vaddq_u16(base, added)), gate);
}

/* Even and odd ones of eight numbers. */
struct halves {
    int32x4_t even, odd;
};

static inline struct halves multiply(int16x8_t a, int16x8_t b)
{
    return (struct halves){vmullbq_int_s16(a, b), vmulltq_int_s16(a, b)};
}

static inline struct halves widen(int16x8_t x)
{
    return (struct halves){vmovlbq_s16(x), vmovltq_s16(x)};
}

static inline int16x8_t saturate(struct halves x)
{
    return vqmovntq_s32(vqmovnbq_s32(vdupq_n_s16(0), x.even), x.odd);
}

/* Tanh of numbers with `right` more fractional bits than a gate, one at least. */
static inline int16x8_t fine_tangent(const struct cm_gate_entry *table, int16x8_t x, int32_t right)
{
    int32x4_t even = vrshlq_n_s32(vmulq_n_s32(vmovlbq_s16(x), 3), -right);
    int32x4_t odd = vrshlq_n_s32(vmulq_n_s32(vmovltq_s16(x), 3), -right);
    uint16x8_t steps = vreinterpretq_u16_s16(vmovnbq_s32(vdupq_n_s16(0), vabsq_s32(even)));
    steps = vreinterpretq_u16_s16(vmovntq_s32(vreinterpretq_s16_u16(steps), vabsq_s32(odd)));
    uint16x8_t place = vshlq_n_u16(vshrq_n_u16(steps, 8), 1);
    uint16x8_t base = vldrhq_gather_shifted_offset_u16(&table->base, place);
    uint16x8_t step = vldrhq_gather_shifted_offset_u16(&table->step, place);
    uint16x8_t added = vrmulhq_u16(vshlq_n_u16(steps, 8), step);
    return choose_sign(vreinterpretq_s16_u16(vaddq_u16(base, added)), x);
}

/* Halves away from zero. */
static inline int32x4_t rounding_shift_right(int32x4_t x, int32_t bits)
{
    return vrshlq_n_s32(bits > 0 ? vaddq_s32(x, vshrq_n_s32(x, 31)) : x, -bits);
}

static inline int32x4_t requantize(const struct cm_narrowing *to, int32x4_t x)
{
    int32_t left = to->shift > 0 ? to->shift : 0;
    return rounding_shift_right(vqrdmulhq_n_s32(vshlq_r_s32(x, left), to->multiplier), left - to->shift);
}

/* Writes up to eight int8 results. */
static inline void narrow(const struct cm_narrowing *to, struct halves x, int8_t *out, mve_pred16_t valid)
{
    int16x8_t scaled = saturate((struct halves){requantize(to, x.even), requantize(to, x.odd)});
    scaled = vqaddq_n_s16(scaled, (int16_t)to->zero_point);
    scaled = vminq_s16(vmaxq_s16(scaled, vdupq_n_s16(INT8_MIN)), vdupq_n_s16(INT8_MAX));
    vstrbq_p_s16(out, scaled, valid);
}

#endif
