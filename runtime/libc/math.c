/* C's float functions that compiler-rt lacks. */
#include <math.h>

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
