/* The part of C's <math.h> that the runtime uses, for toolchains without a C library. */
#ifndef CMRT_LIBC_MATH_H
#define CMRT_LIBC_MATH_H

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)

float fabsf(float x);
float copysignf(float size, float sign);
float sqrtf(float x);
float floorf(float x);
float ceilf(float x);
float truncf(float x);
float rintf(float x);
float fmodf(float x, float y);

/* One instruction each, if the core has it: see string.h. */
#define fabsf(x) __builtin_fabsf(x)
#define copysignf(size, sign) __builtin_copysignf(size, sign)
#define sqrtf(x) __builtin_sqrtf(x)
#define floorf(x) __builtin_floorf(x)
#define ceilf(x) __builtin_ceilf(x)
#define truncf(x) __builtin_truncf(x)
#define rintf(x) __builtin_rintf(x)

#endif
