/* A model with its own kernels, to test the rest of an image: adds 1 to each of 100 bytes, twice. */
#ifndef TOY_MODEL_H
#define TOY_MODEL_H

#include "cmrt/program.h"

#define TOY_ARENA_BYTES 176

extern const struct cm_program toy_program;

#define CM_MODEL_PROGRAM toy_program
#define CM_MODEL_ARENA_BYTES TOY_ARENA_BYTES

#endif
