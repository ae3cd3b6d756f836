/* The models of an image, for the shell. */
#ifndef CMBUILD_MODELS_H
#define CMBUILD_MODELS_H

#include "cmrt/program.h"
#include "cmrt/vectors.h"

struct cmbuild_model {
    const char *name; /* NULL after the last */
    const struct cm_program *program;
    const struct cm_vectors *vectors;
    const char *(*op_name)(uint32_t op);
};

extern const struct cmbuild_model cmbuild_models[];

/* As large as the largest model's arena. */
extern uint8_t *const cmbuild_shell_arena;

#endif
