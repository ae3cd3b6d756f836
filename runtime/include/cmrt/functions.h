/* Float functions that round alike on every core; see compiler/cmcompiler/ops/support/functions.py. */
#ifndef CMRT_FUNCTIONS_H
#define CMRT_FUNCTIONS_H

float cm_exp(float x);
float cm_expm1(float x);
float cm_log(float x);
float cm_log1p(float x);
float cm_log2(float x);
float cm_log10(float x);
float cm_sinh(float x);
float cm_cosh(float x);
float cm_asinh(float x);
float cm_acosh(float x);
float cm_atanh(float x);
float cm_tanh(float x);
float cm_sigmoid(float x);
float cm_erf(float x);
float cm_erfc(float x);
float cm_power(float x, float y);
float cm_sin(float x);
float cm_cos(float x);
float cm_tan(float x);
float cm_asin(float x);
float cm_acos(float x);
float cm_atan(float x);
float cm_atan2(float y, float x);

#endif
