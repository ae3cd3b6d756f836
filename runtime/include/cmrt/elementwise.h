/* Microkernels of elementwise ops: `count` elements, from the first to the last, so that the output may
   overwrite an operand. `rhs_step` is 1, or 0 to broadcast one element. */
#ifndef CMRT_ELEMENTWISE_H
#define CMRT_ELEMENTWISE_H

#include <stdint.h>

#include "cmrt/args/byte_function.h"
#include "cmrt/microkernel.h"

struct cm_rescale {
    int32_t zero_point, multiplier, shift;
};

/* See compiler/cmcompiler/ops/add.py for the arithmetic. */
struct cm_sum {
    struct cm_rescale lhs, rhs, output;
    int32_t minimum, maximum;
};
CM_MICROKERNEL void cm_isa_add_s8(const struct cm_sum *sum, const int8_t *lhs, const int8_t *rhs,
                                  int32_t rhs_step, int8_t *out, int32_t count);

/* out = clamp((lhs * lhs_factor + rhs * rhs_factor + offset) >> shift), which never leaves 32 bits. */
struct cm_affine {
    int32_t lhs_factor, rhs_factor, offset, shift;
    int32_t minimum, maximum;
};
CM_MICROKERNEL void cm_isa_add_affine_s8(const struct cm_affine *affine, const int8_t *lhs, const int8_t *rhs,
                                         int32_t rhs_step, int8_t *out, int32_t count);

/* Like add_s8, with a table of what each byte becomes, unsigned: out = clamp((lhs_table[lhs] +
   rhs_table[rhs]) * output's factor + zero point), for output shifts in [-31, -1]. */
struct cm_tabled_sum {
    const int32_t *lhs_table, *rhs_table;
    struct cm_rescale output;
    int32_t minimum, maximum;
};
CM_MICROKERNEL void cm_isa_add_tabled_s8(const struct cm_tabled_sum *sum, const int8_t *lhs,
                                         const int8_t *rhs, int32_t rhs_step, int8_t *out, int32_t count);

/* out = clamp((lhs_table[lhs] - rhs_table[rhs])² * output's factor + zero point), with tables of what each
   byte becomes, unsigned; their differences fit 16 bits. */
struct cm_squared_difference {
    const int16_t *lhs_table, *rhs_table;
    struct cm_rescale output;
};
CM_MICROKERNEL void cm_isa_squared_difference_s8(const struct cm_squared_difference *difference,
                                                 const int8_t *lhs, const int8_t *rhs, int32_t rhs_step,
                                                 int8_t *out, int32_t count);

/* out = clamp((lhs * lhs's factor - rhs * rhs's factor)² * output's factor), for factors of 0.5 at most: the
   differences lie within ±2^15. */
struct cm_short_difference {
    struct cm_rescale lhs, rhs, output;
};
CM_MICROKERNEL void cm_isa_squared_difference_s16(const struct cm_short_difference *difference,
                                                  const int16_t *lhs, const int16_t *rhs, int32_t rhs_step,
                                                  int16_t *out, int32_t count);

/* See compiler/cmcompiler/ops/quotient.py for the arithmetic. */
struct cm_quotient {
    const int32_t *reciprocals;
    int32_t dividend_zero_point, divisor_zero_point;
    struct cm_rescale output;
    int32_t swapped;
};
CM_MICROKERNEL void cm_isa_quotient_s8(const struct cm_quotient *quotient, const int8_t *lhs,
                                       const int8_t *rhs, int32_t rhs_step, int8_t *out, int32_t count);

/* out = clamp(((lhs - zero point) * factor >> shift) + zero point), rounded to nearest, with a word for each
   byte of rhs, unsigned: its factor · 2^8 + (-shift & 255). Each step is 1, or 0 to repeat an element. */
struct cm_tabled_quotient {
    const int32_t *factors;
    int32_t lhs_zero_point, zero_point, lhs_step;
};
CM_MICROKERNEL void cm_isa_div_tabled_s8(const struct cm_tabled_quotient *quotient, const int8_t *lhs,
                                         const int8_t *rhs, int32_t rhs_step, int8_t *out, int32_t count);

/* Writes each of `count` bytes `times` times. */
CM_MICROKERNEL void cm_isa_repeat_bytes(int8_t *out, const int8_t *in, int32_t times, int32_t count);

/* See compiler/cmcompiler/ops/mul.py for the arithmetic. */
struct cm_product {
    int32_t lhs_zero_point, rhs_zero_point;
    struct cm_rescale output;
};
CM_MICROKERNEL void cm_isa_mul_s8(const struct cm_product *product, const int8_t *lhs, const int8_t *rhs,
                                  int32_t rhs_step, int8_t *out, int32_t count);

/* Like mul_s8, for output shifts in [-11, 0]; with the DSP extension in [-11, -2], and multipliers from 2^30;
   without it and MVE for zero points of int8. */
CM_MICROKERNEL void cm_isa_mul_right_s8(const struct cm_product *product, const int8_t *lhs,
                                        const int8_t *rhs, int32_t rhs_step, int8_t *out, int32_t count);

CM_MICROKERNEL void cm_isa_minimum_s8(const int8_t *lhs, const int8_t *rhs, int32_t rhs_step, int8_t *out,
                                      int32_t count);
CM_MICROKERNEL void cm_isa_maximum_s8(const int8_t *lhs, const int8_t *rhs, int32_t rhs_step, int8_t *out,
                                      int32_t count);

/* The same arithmetic on int16, whose zero points are 0. A negative multiplier gives the negative of what its
   magnitude does. */
CM_MICROKERNEL void cm_isa_add_s16(const struct cm_sum *sum, const int16_t *lhs, const int16_t *rhs,
                                   int32_t rhs_step, int16_t *out, int32_t count);

struct cm_short_product {
    int32_t multiplier, shift, minimum, maximum;
};
CM_MICROKERNEL void cm_isa_mul_s16(const struct cm_short_product *product, const int16_t *lhs,
                                   const int16_t *rhs, int32_t rhs_step, int16_t *out, int32_t count);

CM_MICROKERNEL void cm_isa_minimum_s16(const int16_t *lhs, const int16_t *rhs, int32_t rhs_step, int16_t *out,
                                       int32_t count);
CM_MICROKERNEL void cm_isa_maximum_s16(const int16_t *lhs, const int16_t *rhs, int32_t rhs_step, int16_t *out,
                                       int32_t count);

/* Bytes of two operands, which move by 0 or 1 from element to element. */
struct cm_byte_operands {
    const uint8_t *lhs, *rhs;
    int32_t lhs_step, rhs_step;
};

enum cm_byte_kind { CM_COMPARED, CM_TRUE, CM_BITS };
CM_MICROKERNEL void cm_isa_binary_bytes(const struct cm_byte_function *function,
                                        struct cm_byte_operands bytes, uint8_t *out, int32_t count);

/* out = condition is not 0 ? lhs : rhs; the condition moves by 0 or 1, too. */
CM_MICROKERNEL void cm_isa_choose_bytes(const uint8_t *condition, int32_t condition_step,
                                        struct cm_byte_operands bytes, uint8_t *out, int32_t count);

/* out = table[the byte of in, unsigned] */
CM_MICROKERNEL void cm_isa_lookup_s8(const int8_t *in, const int8_t *table, int8_t *out, int32_t count);

/* out = clamp((x * (x < 0 ? below[i] : above) + offset) >> shift) with x = in - zero_point, all within 32
   bits; `below` has a factor for each of the channels. At least one row. */
struct cm_slopes {
    const int32_t *below;
    int32_t above, zero_point, offset, shift;
};
CM_MICROKERNEL void cm_isa_prelu_s8(const struct cm_slopes *slopes, const int8_t *in, int8_t *out,
                                    int32_t channels, int32_t rows);

/* out = clamp(rint(in * inverse_scale) + zero_point); NaN gives the zero point. */
struct cm_quantize_parameters {
    float inverse_scale;
    int32_t zero_point, minimum, maximum;
};
CM_MICROKERNEL void cm_isa_quantize_s8(const struct cm_quantize_parameters *to, const float *in, int8_t *out,
                                       int32_t count);

/* out = (in - zero_point) * scale */
CM_MICROKERNEL void cm_isa_dequantize_s8(const int8_t *in, int32_t zero_point, float scale, float *out,
                                         int32_t count);

#endif
