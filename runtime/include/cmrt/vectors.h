/* Test vectors in an image's flash: samples and their expected outputs. */
#ifndef CMRT_VECTORS_H
#define CMRT_VECTORS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cm_context;
struct cm_port;
struct cm_wait;

/* How an output is compared with the expected one. */
enum cm_rule {
    CM_RULE_BITS,    /* bit-exact */
    CM_RULE_FLOAT,   /* float32, bit-exact, except that all NaNs are equal */
    CM_RULE_NEAR,    /* float32 within 1e-5, relative */
    CM_RULE_NEAR_S8, /* int8 within one step */
};

/* An input or output of all samples, one after the other. */
struct cm_stream {
    const uint8_t *data;
    uint32_t bytes; /* of one sample */
    enum cm_rule rule;
};

struct cm_vectors {
    uint32_t samples;
    const struct cm_stream *inputs;
    uint32_t input_count;
    const struct cm_stream *outputs;
    uint32_t output_count;
    const int32_t *labels; /* the class of each sample, -1 if unknown; NULL without labels */
};

/* Writes a sample to the inputs of a program. */
void cm_vectors_write(const struct cm_vectors *vectors, const struct cm_context *context,
                      const struct cm_port *inputs, uint32_t sample);

/* Brings the row of an input that a run on this sample waits for; or whether the row of an output that it
   hands out is the expected one. */
bool cm_vectors_exchange(const struct cm_vectors *vectors, const struct cm_wait *wait, uint32_t sample);

/* The first output in memory that differs from the expected one for this sample, or -1. */
int32_t cm_vectors_differ(const struct cm_vectors *vectors, const struct cm_context *context,
                          const struct cm_port *outputs, uint32_t sample);

/* Whether `bytes` bytes match the expected ones. */
bool cm_vectors_match(enum cm_rule rule, const void *found, const void *expected, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
