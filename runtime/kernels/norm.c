/* Norms of int8 numbers; see compiler/cmcompiler/ops/norm.py. */
#include "cmrt/norm.h"
#include "cmrt/args/norm_s8.h"
#include "cmrt/program.h"

#define EPSILON_BITS 8

static int32_t bit_length(uint64_t x)
{
    uint32_t high = (uint32_t)(x >> 32), low = (uint32_t)x;
    return high != 0 ? 64 - __builtin_clz(high) : low != 0 ? 32 - __builtin_clz(low) : 0;
}

static uint32_t multiply_shifted(uint32_t a, uint32_t b, int32_t shift)
{
    return (uint32_t)((uint64_t)a * b >> shift);
}

/* Newton's iteration, in which all products fit 32 bits: the square of a root times the number is at
   most 1.2. compiler/cmcompiler/ops/support/square_root.py has the constants. */
struct cm_inverse_root cm_inverse_square_root(uint64_t x)
{
    int32_t exponent = (bit_length(x) - 1) / 2, spare = 30 - 2 * exponent;
    uint32_t scaled = (uint32_t)(spare >= 0 ? x << spare : x >> -spare);
    uint32_t root = UINT32_C(2290114200) - multiply_shifted(scaled, UINT32_C(654338232), 31);
    for (int32_t i = 0; i < 3; ++i) {
        uint32_t square = multiply_shifted(root, root, 31);
        uint32_t product = multiply_shifted(square, scaled, 30);
        uint32_t half = (product >> 1) + (product & 1);
        root = multiply_shifted(root, (UINT32_C(3) << 30) - half, 31);
    }
    const uint32_t least = UINT32_C(1) << 30, most = INT32_MAX;
    root = root < least ? least : root > most ? most : root;
    return (struct cm_inverse_root){(int32_t)root, exponent};
}

/* From the sum and the sum of squares of a group. */
static struct cm_norm norm_of(const struct cm_norm_s8 *op, int32_t sum, int32_t squares)
{
    int32_t count = op->pixels * op->channels, offset = sum;
    int64_t spread = (int64_t)count * squares - (int64_t)sum * sum;
    if (op->is_centred) {
        offset = count * op->centre;
        spread = squares - (int64_t)(2 * op->centre) * sum + (int64_t)offset * op->centre;
        spread *= count;
    }
    uint64_t epsilon = (uint64_t)op->epsilon_high << 32 | op->epsilon_low;
    struct cm_inverse_root root = cm_inverse_square_root(((uint64_t)spread << EPSILON_BITS) + epsilon);
    int32_t exponent = root.exponent > EPSILON_BITS / 2 ? root.exponent - EPSILON_BITS / 2 : 0;
    int32_t count_bits = bit_length((uint32_t)count), root_bits = (count_bits + 1) / 2;
    int32_t bits = root_bits + exponent + 1;
    int32_t left = 30 - (bits < 8 + count_bits ? bits : 8 + count_bits);
    return (struct cm_norm){
        .factor = (int32_t)((uint32_t)count << left),
        .offset = (int32_t)((uint32_t)offset << left),
        .inverse = root.mantissa >> (left + exponent - (29 - root_bits)),
        .shift = op->shift,
        .zero_point = op->zero_point,
    };
}

void cm_norm_s8(const struct cm_context *context, const struct cm_call *call)
{
    const struct cm_norm_s8 *op = call->arguments;
    const int32_t *multipliers = cm_read(context, op->multipliers), *biases = cm_read(context, op->biases);
    const int8_t *input = cm_read(context, op->input);
    int8_t *output = cm_write(context, op->output);
    int32_t pixel_bytes = op->groups * op->channels, image_bytes = op->pixels * pixel_bytes;
    const struct cm_norm_group members = {op->channels, op->pixels, pixel_bytes};
    for (int32_t i = 0; i < op->images; ++i, input += image_bytes, output += image_bytes) {
        for (int32_t group = 0; group < op->groups; ++group) {
            int32_t first = group * op->channels, sum = 0, squares = 0;
            cm_isa_moments_s8(input + first, &members, &sum, &squares);
            struct cm_norm norm = norm_of(op, sum, squares);
            cm_isa_norm_s8(&norm, &members, input + first, multipliers + first, biases + first,
                           output + first);
        }
    }
}
