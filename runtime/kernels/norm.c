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

/* Newton's iteration; compiler/cmcompiler/ops/support/square_root.py has the constants. */
struct cm_inverse_root cm_inverse_square_root(uint64_t x)
{
    int32_t exponent = (bit_length(x) - 1) / 2, spare = 30 - 2 * exponent;
    uint64_t scaled = spare >= 0 ? x << spare : x >> -spare;
    uint64_t root = UINT64_C(2290114200) - (scaled * 654338232 >> 31);
    for (int32_t i = 0; i < 3; ++i) {
        uint64_t square = root * root >> 31;
        uint64_t product = square * scaled >> 30;
        root = root * (((UINT64_C(3) << 31) - product) >> 1) >> 31;
    }
    uint64_t least = UINT64_C(1) << 30, most = INT32_MAX;
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
    for (int32_t i = 0; i < op->images; ++i, input += image_bytes, output += image_bytes) {
        for (int32_t group = 0; group < op->groups; ++group) {
            int32_t first = group * op->channels, sum = 0, squares = 0;
            for (int32_t pixel = 0; pixel < op->pixels; ++pixel)
                cm_isa_moments_s8(input + pixel * pixel_bytes + first, op->channels, &sum, &squares);
            struct cm_norm norm = norm_of(op, sum, squares);
            for (int32_t pixel = 0; pixel < op->pixels; ++pixel) {
                int32_t place = pixel * pixel_bytes + first;
                cm_isa_norm_s8(&norm, input + place, multipliers + first, biases + first, output + place,
                               op->channels);
            }
        }
    }
}
