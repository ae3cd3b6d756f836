/* Functions of two bytes with MVE, sixteen at a time. */
#include "bytes.h"
#include "cmrt/elementwise.h"

/* Ones where an order is wanted that the bytes have. */
static inline uint8x16_t compare(const struct cm_byte_function *f, uint8x16_t a, uint8x16_t b)
{
    uint8x16_t turn = vdupq_n_u8((uint8_t)(f->is_unsigned & 128));
    int8x16_t x = vreinterpretq_s8_u8(veorq_u8(a, turn)), y = vreinterpretq_s8_u8(veorq_u8(b, turn));
    uint32_t equal = vcmpeqq_s8(x, y), more = vcmpgtq_s8(x, y);
    uint32_t wanted = (equal & (uint32_t)f->when_equal) | (more & (uint32_t)f->when_more) |
                      (~(equal | more) & (uint32_t)f->when_less);
    return vpselq_u8(vdupq_n_u8(1), vdupq_n_u8(0), (mve_pred16_t)wanted);
}

static inline uint8x16_t combine(const struct cm_byte_function *f, uint8x16_t a, uint8x16_t b)
{
    if (f->kind == CM_TRUE) {
        a = vminq_u8(a, vdupq_n_u8(1));
        b = vminq_u8(b, vdupq_n_u8(1));
    }
    uint8x16_t both = vandq_u8(vandq_u8(a, b), vdupq_n_u8((uint8_t)f->of_both));
    return vorrq_u8(both, vandq_u8(veorq_u8(a, b), vdupq_n_u8((uint8_t)f->of_one)));
}

void cm_isa_binary_bytes(const struct cm_byte_function *function, struct cm_byte_operands bytes, uint8_t *out,
                         int32_t count)
{
    const struct cm_byte_function f = *function;
    for (; count > 0; count -= 16, out += 16) {
        mve_pred16_t valid = vctp8q((uint32_t)count);
        uint8x16_t a = take_bytes(&bytes.lhs, bytes.lhs_step, valid);
        uint8x16_t b = take_bytes(&bytes.rhs, bytes.rhs_step, valid);
        vstrbq_p_u8(out, f.kind == CM_COMPARED ? compare(&f, a, b) : combine(&f, a, b), valid);
    }
}
