/* Rejects kernels that the model was not planned for; compiled with each model. */
#include "model_io.h"

#if defined(CM_MODEL_ISA_MVE) && !defined(CONFIG_CMBUILD_ISA_MVE)
#error                                                                                                       \
    "the model was planned for mve, CONFIG_CMBUILD_ISA is another: package it with --isa CONFIG_CMBUILD_ISA"
#elif defined(CM_MODEL_ISA_DSP) && !defined(CONFIG_CMBUILD_ISA_DSP)
#error                                                                                                       \
    "the model was planned for dsp, CONFIG_CMBUILD_ISA is another: package it with --isa CONFIG_CMBUILD_ISA"
#elif defined(CM_MODEL_ISA_SCALAR) && !defined(CONFIG_CMBUILD_ISA_SCALAR)
#error                                                                                                       \
    "the model was planned for scalar, CONFIG_CMBUILD_ISA is another: package it with --isa CONFIG_CMBUILD_ISA"
#endif

#if CM_MODEL_NEEDS_FLOAT && !defined(CONFIG_CMBUILD_FLOAT)
#error "the model computes in float: it needs CONFIG_CMBUILD_FLOAT=y"
#endif
