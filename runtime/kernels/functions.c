/* Elementary float functions, step by step as in compiler/cmcompiler/ops/support/functions.py. */
#include "cmrt/functions.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const float log2_e = 1.4426950408889634F, ln2 = 0.6931471805599453F;
static const float log10_e = 0.4342944819032518F;
/* ln 2 in two parts; products of the first with integers below 2^15 are exact. */
static const float ln2_high = 0.693359375F, ln2_low = -2.1219444005469057e-4F;

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* To the nearest integer, halves to even, for |x| below 2^22. */
static float round_to_even(float x)
{
    const float rounder = 12582912.0F; /* 3 * 2^22 */
    return (x + rounder) - rounder;
}

/* exp(r) - 1 for small r: Taylor's series. */
static float exp_minus_one(float r)
{
    float tail = 1.0F / 5040;
    tail = tail * r + 1.0F / 720;
    tail = tail * r + 1.0F / 120;
    tail = tail * r + 1.0F / 24;
    tail = tail * r + 1.0F / 6;
    tail = tail * r + 0.5F;
    return tail * (r * r) + r;
}

static float power_of_two(int32_t exponent)
{
    return from_bits((uint32_t)(exponent + 127) << 23);
}

/* exp(r) * 2^steps, in two steps so that a subnormal result is rounded once. */
static float exp_scaled(float r, float steps)
{
    int32_t whole = (int32_t)steps, half = whole >> 1;
    return (exp_minus_one(r) + 1) * power_of_two(half) * power_of_two(whole - half);
}

float cm_exp(float x)
{
    if (isnan(x))
        return x;
    float clamped = x < -104 ? -104 : x > 89 ? 89 : x;
    float steps = round_to_even(clamped * log2_e);
    return exp_scaled((clamped - steps * ln2_high) - steps * ln2_low, steps);
}

float cm_expm1(float x)
{
    return fabsf(x) < 0.35F ? exp_minus_one(x) : cm_exp(x) - 1;
}

/* x = 2^exponent * (1 + fraction), 1 + fraction from sqrt(1/2) to sqrt(2), for finite x > 0. */
struct split {
    float exponent, fraction;
};

static struct split split(float x)
{
    const int32_t sqrt_half = 0x3f3504f3;
    bool is_subnormal = x < 0x1p-126F;
    int32_t bits = (int32_t)to_bits(is_subnormal ? x * 0x1p25F : x);
    int32_t exponent = (bits - sqrt_half) >> 23;
    float mantissa = from_bits((uint32_t)bits - ((uint32_t)exponent << 23));
    return (struct split){(float)(exponent - (is_subnormal ? 25 : 0)), mantissa - 1};
}

/* log(1 + f) - f; with s = f / (2 + f), log(1 + f) is 2 * atanh(s) and f - s * f is 2 * s. */
static float log1p_tail(float f)
{
    float s = f / (f + 2), square = s * s;
    float tail = 2.0F / 9;
    tail = tail * square + 2.0F / 7;
    tail = tail * square + 2.0F / 5;
    tail = tail * square + 2.0F / 3;
    return s * (tail * square - f);
}

float cm_log(float x)
{
    if (!(x > 0))
        return x == 0 ? -INFINITY : NAN;
    if (isinf(x))
        return x;
    struct split at = split(x);
    return at.exponent * ln2_high + (at.fraction + (at.exponent * ln2_low + log1p_tail(at.fraction)));
}

float cm_log1p(float x)
{
    return x > -0.29F && x < 0.41F ? x + log1p_tail(x) : cm_log(1 + x);
}

float cm_log2(float x)
{
    if (!(x > 0) || isinf(x))
        return cm_log(x);
    struct split at = split(x);
    return at.exponent + (at.fraction + log1p_tail(at.fraction)) * log2_e;
}

float cm_log10(float x)
{
    return cm_log(x) * log10_e;
}

/* exp(x) / 2 and exp(-x) / 2 for x >= 0; the first does not overflow early. */
struct halves {
    float rising, falling;
};

static struct halves halves(float x)
{
    float root = cm_exp(x * 0.5F);
    return (struct halves){(root * 0.5F) * root, 0.5F / (root * root)};
}

float cm_sinh(float x)
{
    float size = fabsf(x);
    if (size < 1) {
        float above = cm_expm1(size);
        return copysignf((above + above / (above + 1)) * 0.5F, x);
    }
    struct halves of = halves(size);
    return copysignf(of.rising - of.falling, x);
}

float cm_cosh(float x)
{
    struct halves of = halves(fabsf(x));
    return of.rising + of.falling;
}

/* Above this, the roots of x^2 + 1 and x^2 - 1 are x. */
static const float large = 1e4F;

float cm_asinh(float x)
{
    float size = fabsf(x), square = size * size;
    if (size < large)
        return copysignf(cm_log1p(size + square / (sqrtf(square + 1) + 1)), x);
    return copysignf(cm_log(size) + ln2, x);
}

float cm_acosh(float x)
{
    if (x < 1)
        return NAN;
    float above = x - 1;
    return x < large ? cm_log1p(above + sqrtf(above * (x + 1))) : cm_log(x) + ln2;
}

float cm_atanh(float x)
{
    float size = fabsf(x);
    return copysignf(cm_log1p((size + size) / (1 - size)) * 0.5F, x);
}

float cm_tanh(float x)
{
    float size = fabsf(x);
    if (size < 0.5F) { /* Lambert's continued fraction */
        float square = x * x;
        return x * ((square + 105) * square + 945) / ((15 * square + 420) * square + 945);
    }
    return copysignf(1 - 2 / (cm_exp(size + size) + 1), x);
}

float cm_sigmoid(float x)
{
    return 1 / (cm_exp(-x) + 1);
}

float cm_erf(float x)
{
    float size = fabsf(x);
    if (!(size < 0.5F))
        return copysignf(1 - cm_erfc(size), x);
    /* Taylor's series: 2 / sqrt(pi) over -1320, 216, -42, 10, -3, 1 */
    float square = x * x, series = -0.0008548327023163438F;
    series = series * square + 0.005223977845162153F;
    series = series * square - 0.02686617150902748F;
    series = series * square + 0.11283791810274124F;
    series = series * square - 0.37612637877464294F;
    series = series * square + 1.128379225730896F;
    return x * series;
}

float cm_erfc(float x)
{
    if (isnan(x))
        return x;
    /* erfc(z) * exp(z^2) / t in t = 1 / (1 + z / 2) */
    static const float fit[] = {-0.06013317033648491F, 0.28956249356269836F,  -0.49706387519836426F,
                                0.28877490758895874F,  -0.03357178717851639F, 0.2054307460784912F,
                                0.24246235191822052F,  0.28245607018470764F,  0.2820822298526764F};
    float size = fabsf(x) < 10.5F ? fabsf(x) : 10.5F;
    float t = 1 / (size * 0.5F + 1);
    float series = fit[0];
    for (uint32_t i = 1; i < sizeof fit / sizeof fit[0]; ++i)
        series = series * t + fit[i];
    float positive = series * t * cm_exp(-(size * size));
    return x < 0 ? 2 - positive : positive;
}

/* For finite x > 0 and finite y. */
static float finite_power(float x, float y)
{
    struct split at = split(x);
    float binary = (at.fraction + log1p_tail(at.fraction)) * log2_e;
    float bounded = y < -1e10F ? -1e10F : y > 1e10F ? 1e10F : y;
    /* The upper and lower halves of the mantissa: their products with the exponent are exact. */
    float upper = from_bits(to_bits(bounded) & 0xfffff000U);
    float high = upper * at.exponent, low = (bounded - upper) * at.exponent + bounded * binary;
    float total = high + low;
    if (total > 129)
        return INFINITY;
    if (total < -151)
        return 0;
    float steps = round_to_even(total);
    return exp_scaled(((high - steps) + low) * ln2, steps);
}

float cm_power(float x, float y)
{
    if (y == 0 || x == 1)
        return 1;
    bool is_whole = floorf(y) == y, is_odd = is_whole && !isinf(y) && floorf(y * 0.5F) != y * 0.5F;
    if (isnan(x) || isnan(y) || (x < 0 && !isinf(x) && !is_whole))
        return NAN;
    float size = fabsf(x), magnitude;
    if (size == 0 || isinf(x) || isinf(y))
        magnitude = size == 1 ? 1 : (size > 1) == (y > 0) ? INFINITY : 0;
    else
        magnitude = finite_power(size, y);
    return is_odd && signbit(x) != 0 ? -magnitude : magnitude;
}

/* An angle of x >= 0: x = (quarters + 4 * n) * pi / 2 + rest, rest from -pi / 4 to pi / 4. */
struct angle {
    uint32_t quarters;
    float rest;
};

static const float pi = 3.141592653589793F, half_pi = 1.5707963267948966F, quarter_pi = 0.7853981633974483F;

/* 32 binary digits from a place in two words. */
static uint32_t digits(const uint32_t *words, uint32_t place)
{
    return (uint32_t)(((uint64_t)words[0] << 32 | words[1]) >> (32 - place));
}

/* Of the product of x with 2 / pi, only the digits are computed that neither add up to multiples of four nor
   lie below 2^-62 (Payne and Hanek's reduction). */
static struct angle angle_of(float x)
{
    /* The binary digits of 2 / pi: 32 in front of the point, and 224 after it. */
    static const uint32_t two_over_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                           0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    if (!isfinite(x))
        return (struct angle){0, NAN};
    if (x < quarter_pi)
        return (struct angle){0, x};
    uint32_t bits = to_bits(x), mantissa = (bits & 0x7fffffU) | 0x800000U, start = (bits >> 23) - 120;
    const uint32_t *words = &two_over_pi[start / 32];
    uint32_t place = start % 32;
    uint64_t product = (uint64_t)(mantissa * digits(words, place)) << 32;
    product += (uint64_t)mantissa * digits(words + 1, place);
    product += (uint64_t)mantissa * digits(words + 2, place) >> 32;
    uint32_t quarters = (uint32_t)((product + (1ULL << 61)) >> 62);
    int64_t rest = (int64_t)(product - ((uint64_t)quarters << 62));
    return (struct angle){quarters, (float)rest * (half_pi * 0x1p-62F)};
}

/* sin(quarters * pi / 2 + rest): Taylor's series. */
static float wave(uint32_t quarters, float rest)
{
    float square = rest * rest, series, size;
    if ((quarters & 1) != 0) {
        series = 1.0F / 40320;
        series = series * square - 1.0F / 720;
        series = series * square + 1.0F / 24;
        series = series * square - 0.5F;
        size = 1 + square * series;
    } else {
        series = 1.0F / 362880;
        series = series * square - 1.0F / 5040;
        series = series * square + 1.0F / 120;
        series = series * square - 1.0F / 6;
        size = rest + rest * square * series;
    }
    return (quarters & 2) != 0 ? -size : size;
}

float cm_sin(float x)
{
    struct angle at = angle_of(fabsf(x));
    float sine = wave(at.quarters, at.rest);
    return signbit(x) != 0 ? -sine : sine;
}

float cm_cos(float x)
{
    struct angle at = angle_of(fabsf(x));
    return wave(at.quarters + 1, at.rest);
}

float cm_tan(float x)
{
    struct angle at = angle_of(fabsf(x));
    float slope = wave(at.quarters, at.rest) / wave(at.quarters + 1, at.rest);
    return signbit(x) != 0 ? -slope : slope;
}

/* atan(x) for 0 <= x <= tan(pi / 8): Taylor's series. */
static float small_arc(float x)
{
    float square = x * x, series = -1.0F / 15;
    series = series * square + 1.0F / 13;
    series = series * square - 1.0F / 11;
    series = series * square + 1.0F / 9;
    series = series * square - 1.0F / 7;
    series = series * square + 1.0F / 5;
    series = series * square - 1.0F / 3;
    return x + x * square * series;
}

/* For 0 <= x <= 1. */
static float arc(float x)
{
    const float tan_eighth_pi = 0.41421356237309503F;
    return x > tan_eighth_pi ? quarter_pi - small_arc((1 - x) / (1 + x)) : small_arc(x);
}

float cm_atan2(float y, float x)
{
    if (isnan(x) || isnan(y))
        return NAN;
    float across = fabsf(x), up = fabsf(y), turn;
    if (across == up)
        turn = across == 0 ? 0 : quarter_pi;
    else
        turn = up > across ? half_pi - arc(across / up) : arc(up / across);
    return copysignf(signbit(x) != 0 ? pi - turn : turn, y);
}

float cm_atan(float x)
{
    return cm_atan2(x, 1);
}

/* sqrt(1 - x^2) */
static float chord(float x)
{
    return sqrtf((1 - x) * (1 + x));
}

float cm_asin(float x)
{
    return cm_atan2(x, chord(x));
}

float cm_acos(float x)
{
    return cm_atan2(chord(x), x);
}
