#include "cmrt/elementwise.h"

#include <stdbool.h>

/* 128 turns the order of unsigned bytes into that of signed ones. */
static inline void compare(const struct cm_byte_function *f, struct cm_byte_operands bytes, uint8_t *out,
                           int32_t count)
{
    const int32_t turn = f->is_unsigned & 128;
    const int32_t less = f->when_less, equal = f->when_equal, more = f->when_more;
    for (int32_t i = 0; i < count; ++i) {
        int8_t a = (int8_t)(*bytes.lhs ^ turn), b = (int8_t)(*bytes.rhs ^ turn);
        bytes.lhs += bytes.lhs_step;
        bytes.rhs += bytes.rhs_step;
        *out++ = (uint8_t)((a < b ? less : a > b ? more : equal) & 1);
    }
}

static inline void combine(const struct cm_byte_function *f, struct cm_byte_operands bytes, uint8_t *out,
                           int32_t count)
{
    const int32_t both = f->of_both, one = f->of_one;
    const bool is_truth = f->kind == CM_TRUE;
    for (int32_t i = 0; i < count; ++i) {
        int32_t a = *bytes.lhs, b = *bytes.rhs;
        bytes.lhs += bytes.lhs_step;
        bytes.rhs += bytes.rhs_step;
        if (is_truth) {
            a = a != 0;
            b = b != 0;
        }
        *out++ = (uint8_t)((a & b & both) | ((a ^ b) & one));
    }
}

void cm_isa_binary_bytes(const struct cm_byte_function *function, struct cm_byte_operands bytes, uint8_t *out,
                         int32_t count)
{
    if (function->kind == CM_COMPARED)
        compare(function, bytes, out, count);
    else
        combine(function, bytes, out, count);
}
