/* Test vectors that an image carries in its flash: samples, and what must come out of them. */
#ifndef CMRT_VECTORS_H
#define CMRT_VECTORS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an output is compared with the one that it should be. */
enum cm_rule {
    CM_RULE_BITS,    /* to the bit */
    CM_RULE_FLOAT,   /* float32 to the bit, but any NaN equals any other */
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
    const int32_t *labels; /* the class of each sample, -1 where unknown; NULL if there are none */
};

/* Those of the model of an image that has one; emitted with it. */
extern const struct cm_vectors cm_model_vectors;

/* What the steps of that model do, for people: `conv2d 3×3`; emitted with it. */
extern const char *const cm_model_titles[];

/* Puts sample `sample` where the executor takes it from, and forgets what runs before have left. */
void cm_vectors_load(uint32_t sample);

/* The first output of the executor that is not what it should be for this sample, or -1. */
int32_t cm_vectors_check(uint32_t sample);

/* Whether `bytes` bytes are what they should be. */
bool cm_vectors_match(enum cm_rule rule, const void *found, const void *expected, uint32_t bytes);

#ifdef __cplusplus
}
#endif

#endif
