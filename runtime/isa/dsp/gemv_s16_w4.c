/* int16 gates of one int8 row, with weights of four bits, with the DSP extension: unpacked, then multiplied
   as bytes. */
#include "cmrt/narrow_gates.h"

/* The second columns of pairs are signed. */
static void unpack(const struct cm_nibbles *sizes, int8_t *out, const uint8_t *factors, const uint8_t *in)
{
    (void)factors;
    cm_unpack_words(sizes, out, in, UINT32_C(0x80008000));
}

void cm_isa_gemv_s16_w4(const struct cm_gate_weights *weights, const int8_t *row, int16_t *gates,
                        void *workspace)
{
    cm_add_nibbles_to_gates(weights, row, gates, workspace, unpack);
}
