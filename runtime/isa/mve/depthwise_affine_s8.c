/* Depthwise convolution of one tap with MVE, sixteen elements of a row at a time. */
#include "cmrt/assembly.h"
#include "cmrt/isa.h"

/* Packed weights are their number of bytes, filled to 16, then blocks of factors and offsets of sixteen
   elements: of those that are 0, 2, 1 and 3 modulo 4, as widening splits them, four factors, then four
   offsets. */
struct elements {
    const int8_t *in;      /* r1 */
    int8_t *out;           /* r2 */
    const int8_t *weights; /* r3 */
    const int8_t *end;     /* r4: of the weights */
    int32_t count;         /* r5 */
    int32_t minimum;       /* r6 */
    int32_t maximum;       /* r7 */
};

/* clang-format off */
/* Sixteen elements of q0, shifted by 16 and by 5. Both shifts round, which the offsets make up for: GNU's
   assembler, 2.40, knows no VQSHRN. Loads and multiplications lie between what widens, adds and narrows. */
#define SIXTEEN \
    "vmovlb.s8 q1, q0\n" \
    "vldrw.32 q4, [r0]\n" \
    "vmovlb.s16 q2, q1\n" \
    "vmul.i32 q2, q2, q4\n" \
    "vmovlt.s16 q1, q1\n" \
    "vldrw.32 q4, [r0, #16]\n" \
    "vadd.i32 q2, q2, q4\n" \
    "vldrw.32 q4, [r0, #32]\n" \
    "vqrshrnb.s32 q2, q2, #16\n" \
    "vmul.i32 q1, q1, q4\n" \
    "vmovlt.s8 q0, q0\n" \
    "vldrw.32 q4, [r0, #48]\n" \
    "vadd.i32 q1, q1, q4\n" \
    "vldrw.32 q4, [r0, #64]\n" \
    "vmovlb.s16 q3, q0\n" \
    "vmul.i32 q3, q3, q4\n" \
    "vqrshrnt.s32 q2, q1, #16\n" \
    "vldrw.32 q1, [r0, #96]\n" \
    "vmovlt.s16 q0, q0\n" \
    "vldrw.32 q4, [r0, #80]\n" \
    "vadd.i32 q3, q3, q4\n" \
    "vmul.i32 q0, q0, q1\n" \
    "vqrshrnb.s32 q3, q3, #16\n" \
    "vldrw.32 q4, [r0, #112]\n" \
    "vadd.i32 q0, q0, q4\n" \
    "add r0, #128\n" \
    "vqrshrnt.s32 q3, q0, #16\n" \
    "cmp r0, r4\n" \
    "vqrshrnb.s16 q2, q2, #5\n" \
    "it eq\n" \
    "moveq r0, r3\n" \
    "vqrshrnt.s16 q2, q3, #5\n" \
    "vmax.s8 q2, q2, q5\n" \
    "vmin.s8 q2, q2, q6\n"

void cm_mve_depthwise_affine(const struct elements *elements);
__asm(CM_ASM_FUNCTION(cm_mve_depthwise_affine)
      "push {r4-r7, lr}\n"
      "vpush {d8-d13}\n"
      "ldm r0, {r1-r7}\n"
      "mov r0, r3\n"
      "vdup.8 q5, r6\n"
      "vdup.8 q6, r7\n"
      "lsr lr, r5, #4\n"
      "wls lr, lr, 2f\n"
      "1:\n"
      "vldrb.8 q0, [r1], #16\n"
      SIXTEEN
      "vstrb.8 q2, [r2], #16\n"
      "le lr, 1b\n"
      "2:\n"
      "ands r5, #15\n"
      "beq.w 3f\n"
      "vctp.8 r5\n"
      "vpst\n"
      "vldrbt.u8 q0, [r1]\n"
      SIXTEEN
      "vpst\n"
      "vstrbt.8 q2, [r2]\n"
      "3:\n"
      "vpop {d8-d13}\n"
      "pop {r4-r7, pc}\n"
      CM_ASM_END);
/* clang-format on */

void cm_isa_depthwise_affine_s8(const struct cm_depthwise *d)
{
    const int32_t *bytes = d->weights;
    struct elements elements = {
        .weights = (const int8_t *)(bytes + 4),
        .end = (const int8_t *)(bytes + 4) + *bytes,
        .count = d->out_width * d->channels,
        .minimum = d->output.minimum,
        .maximum = d->output.maximum,
    };
    for (int32_t r = 0; r < d->band; ++r) {
        elements.in = d->input + d->input_rows[r];
        elements.out = d->out + d->out_rows[r];
        cm_mve_depthwise_affine(&elements);
    }
}
