/* Bytes of two operands by a condition, with MVE sixteen at a time. */
#include "bytes.h"
#include "cmrt/elementwise.h"

void cm_isa_choose_bytes(const uint8_t *condition, int32_t condition_step, struct cm_byte_operands bytes,
                         uint8_t *out, int32_t count)
{
    for (; count > 0; count -= 16, out += 16) {
        mve_pred16_t valid = vctp8q((uint32_t)count);
        mve_pred16_t chosen = vcmpneq_n_u8(take_bytes(&condition, condition_step, valid), 0);
        uint8x16_t a = take_bytes(&bytes.lhs, bytes.lhs_step, valid);
        uint8x16_t b = take_bytes(&bytes.rhs, bytes.rhs_step, valid);
        vstrbq_p_u8(out, vpselq_u8(a, b, chosen), valid);
    }
}
