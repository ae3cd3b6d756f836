/* Bytes of two operands by a condition, with the DSP extension four at a time. */
#include "bytes.h"
#include "cmrt/elementwise.h"

void cm_isa_choose_bytes(const uint8_t *condition, int32_t condition_step, struct cm_byte_operands bytes,
                         uint8_t *out, int32_t count)
{
    for (; count > 0; count -= 4, out += 4) {
        uint32_t chosen = not_below(take_bytes(&condition, condition_step, count), ONES);
        uint32_t a = take_bytes(&bytes.lhs, bytes.lhs_step, count);
        uint32_t b = take_bytes(&bytes.rhs, bytes.rhs_step, count);
        put_bytes(out, (a & chosen) | (b & ~chosen), count);
    }
}
