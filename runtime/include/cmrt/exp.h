/* The microkernel of float softmax: out = exp(in - less), from the first element to the last, each as cm_exp
   rounds it. */
#ifndef CMRT_EXP_H
#define CMRT_EXP_H

#include <stdint.h>

#include "cmrt/microkernel.h"

CM_MICROKERNEL void cm_isa_exp_f32(const float *in, float less, float *out, int32_t count);

#endif
