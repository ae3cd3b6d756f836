/* Loops of four_by_two.h for weights of int8. One word of them holds two depths of both columns, and
   WIDEN_WEIGHTS(second, both), which what includes this defines, makes of it weights of the second column and
   those of the first one or of both. IN_TURN(second, both) puts first the products of what is ready first. */
#ifndef FOUR_BY_TWO_S8_H
#define FOUR_BY_TWO_S8_H

#include "cortex_m7.h"
#include "four_by_two.h"

/* clang-format off */
/* Two depths of four rows: r8 and r9 are weights, r10 and r11 rows, two each. */
#if IS_CORTEX_M7
/* A Cortex-M7 issues a load or, first, SXTB16 beside each product, and products take what was loaded two cycles
   before. So the words of the next two depths are loaded here, even after the last ones: those are of the
   rescaling, and up to eight bytes behind the rows. Here r11 is the second column's weights, r9 the other rows. */
#define PRELOAD \
    "ldr r10, [lr]\n" \
    "ldr r8, [r12]\n" \
    "ldr r9, [lr, #4]\n"

#define MULTIPLY_TWO_DEPTHS \
    WIDEN_WEIGHTS("r11", "r8") \
    IN_TURN(ADD_PRODUCT("r4", "r10", "r11"), ADD_PRODUCT("r0", "r10", "r8")) \
    "sxtb16 r10, r10, ror #8\n" \
    ADD_PRODUCT("r2", "r9", "r8") ADD_PRODUCT("r6", "r9", "r11") \
    "sxtb16 r9, r9, ror #8\n" \
    ADD_PRODUCT("r1", "r10", "r8") ADD_PRODUCT("r5", "r10", "r11") \
    "ldr r10, [lr, #8]!\n" \
    ADD_PRODUCT("r3", "r9", "r8") \
    "ldr r8, [r12, #4]!\n" \
    ADD_PRODUCT("r7", "r9", "r11") \
    "ldr r9, [lr, #4]\n"

/* Of three rows: r6 and r7 are weights, r8 to r10 rows. */
#define PRELOAD_THREE \
    "ldr r6, [r12]\n" \
    "ldr r8, [lr]\n" \
    "ldr r9, [lr, #4]\n"

#define MULTIPLY_TWO_DEPTHS_OF_THREE \
    WIDEN_WEIGHTS("r7", "r6") \
    IN_TURN(ADD_PRODUCT("r3", "r8", "r7"), ADD_PRODUCT("r0", "r8", "r6")) \
    "ldr r10, [lr, #8]\n" \
    ADD_PRODUCT("r1", "r9", "r6") \
    "ldr r8, [lr, #12]!\n" \
    ADD_PRODUCT("r4", "r9", "r7") \
    "ldr r9, [lr, #4]\n" \
    ADD_PRODUCT("r2", "r10", "r6") \
    "ldr r6, [r12, #4]!\n" \
    ADD_PRODUCT("r5", "r10", "r7")
#else
#define PRELOAD ""
#define PRELOAD_THREE ""

/* Loads that follow each other overlap on a Cortex-M4. */
#define MULTIPLY_TWO_DEPTHS \
    "ldr r8, [r12], #4\n" \
    "ldr r11, [lr, #4]\n" \
    "ldr r10, [lr], #8\n" \
    WIDEN_WEIGHTS("r9", "r8") \
    IN_TURN(ADD_PRODUCT("r6", "r11", "r9"), ADD_PRODUCT("r2", "r11", "r8") ADD_PRODUCT("r0", "r10", "r8")) \
    "sxtb16 r11, r11, ror #8\n" \
    ADD_PRODUCT("r4", "r10", "r9") \
    "sxtb16 r10, r10, ror #8\n" \
    ADD_PRODUCT("r7", "r11", "r9") ADD_PRODUCT("r3", "r11", "r8") \
    ADD_PRODUCT("r5", "r10", "r9") ADD_PRODUCT("r1", "r10", "r8")

#define MULTIPLY_TWO_DEPTHS_OF_THREE \
    "ldr r6, [r12], #4\n" \
    "ldr r9, [lr, #4]\n" \
    "ldr r10, [lr, #8]\n" \
    "ldr r8, [lr], #12\n" \
    WIDEN_WEIGHTS("r7", "r6") \
    IN_TURN(ADD_PRODUCT("r4", "r9", "r7"), ADD_PRODUCT("r1", "r9", "r6")) \
    ADD_PRODUCT("r2", "r10", "r6") ADD_PRODUCT("r5", "r10", "r7") \
    ADD_PRODUCT("r0", "r8", "r6") ADD_PRODUCT("r3", "r8", "r7")
#endif
/* clang-format on */

#endif
