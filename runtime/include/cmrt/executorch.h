/* A program for ExecuTorch's own runtime, with the facts the host has read from it. */
#ifndef CMRT_EXECUTORCH_H
#define CMRT_EXECUTORCH_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the arena. */
struct cm_extent {
    uint32_t offset, bytes;
};

/* An input or output of the method that is a tensor. */
struct cm_argument {
    uint32_t index;          /* among all of the method's */
    struct cm_extent extent; /* where its elements are */
    bool planned;            /* by the program; otherwise the runtime is given the address */
};

struct cm_executorch_program {
    const uint8_t *program;
    uint32_t program_bytes;
    const char *method;
    const char *identity; /* hash of program and plan */
    const struct cm_extent *buffers;
    uint32_t buffer_count; /* of planned memory, in the program's order */
    const struct cm_argument *inputs;
    uint32_t input_count;
    const struct cm_argument *outputs;
    uint32_t output_count;
    const char *const *operators; /* each once */
    uint32_t operator_count;
    const char *const *steps; /* the name of each instruction */
    uint32_t step_count;      /* 1 if the program has branches */
    bool stepwise;            /* they do */
    uint32_t arena_bytes;
};

#endif
