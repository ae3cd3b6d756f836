/* C's float functions that compiler-rt lacks. rintf is exact; the others have relative errors below 2e-6 for
   normal results. */
#include <math.h>

#include "cmrt/functions.h"

static const float pi = 3.14159265F, half_pi = 1.57079633F, quarter_pi = 0.785398163F, ln2 = 0.693147181F;

float(copysignf)(float size, float sign)
{
    return signbit(sign) != 0 ? -fabsf(size) : fabsf(size);
}

float(rintf)(float x)
{
    const float whole = 0x1p23F; /* above this there are no fractions, and sums round to integers */
    float size = fabsf(x);
    return size < whole ? copysignf((size + whole) - whole, x) : x;
}

/* For 0 <= x <= tan(pi / 8): Taylor's series. */
static float small_angle(float x)
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
static float angle(float x)
{
    const float tan_eighth_pi = 0.414213562F;
    return x > tan_eighth_pi ? quarter_pi - small_angle((1 - x) / (1 + x)) : small_angle(x);
}

float atan2f(float y, float x)
{
    if (isnan(x) || isnan(y))
        return NAN;
    float across = fabsf(x), up = fabsf(y), turn;
    if (across == up)
        turn = across == 0 ? 0 : quarter_pi;
    else
        turn = up > across ? half_pi - angle(across / up) : angle(up / across);
    return copysignf(signbit(x) != 0 ? pi - turn : turn, y);
}

float atanf(float x)
{
    return atan2f(x, 1);
}

float asinf(float x)
{
    return atan2f(x, sqrtf((1 - x) * (1 + x)));
}

float acosf(float x)
{
    return 2 * atan2f(sqrtf(1 - x), sqrtf(1 + x));
}

/* exp(x) / 2 for large x, where exp(x) may overflow. */
static float half_exp(float x)
{
    float root = cm_exp(x * 0.5F);
    return root * 0.5F * root;
}

float sinhf(float x)
{
    float size = fabsf(x), grown = cm_expm1(size);
    return copysignf(size > 80 ? half_exp(size) : (grown + grown / (grown + 1)) * 0.5F, x);
}

float coshf(float x)
{
    float size = fabsf(x), grown = cm_exp(size);
    return size > 80 ? half_exp(size) : (grown + 1 / grown) * 0.5F;
}

static const float large = 0x1p20F; /* 1 is negligible beside its square */

float asinhf(float x)
{
    float size = fabsf(x), square = size * size;
    if (size > large)
        return copysignf(cm_log(size) + ln2, x);
    return copysignf(cm_log1p(size + square / (1 + sqrtf(square + 1))), x);
}

float acoshf(float x)
{
    float above = x - 1;
    if (above < 0)
        return NAN;
    return x > large ? cm_log(x) + ln2 : cm_log1p(above + sqrtf(above * (above + 2)));
}

float atanhf(float x)
{
    float size = fabsf(x);
    return copysignf(cm_log1p(2 * size / (1 - size)) * 0.5F, x);
}
