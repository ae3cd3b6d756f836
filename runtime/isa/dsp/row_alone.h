/* A row alone by two columns at a time, with weights of four_by_two_s8.h. */
#ifndef ROW_ALONE_H
#define ROW_ALONE_H

#include "four_by_two_s8.h"

/* clang-format off */
/* Any result of a row alone. */
#define OUTPUT_ALONE(PART_FIRST) \
    PART_FIRST \
    LOAD_RESCALE \
    SCALE("r0", "r8") SCALE("r3", "r11") AWAY_FROM_ZERO("r0") AWAY_FROM_ZERO("r3") \
    SHIFT("r0", "r9") SHIFT("r3", "lr") \
    LOAD_PLACES \
    SATURATE("r0") SATURATE("r3") \
    JOIN("r0", "r3") \
    "strh r0, [r8], #2\n" \
    "str r8, [sp, #16]\n" \
    NEXT

#define START_ALONE \
    "ldr lr, [sp]\n" \
    "ldr r0, [r12, #4]\n" \
    "ldr r3, [r12, #12]\n" \
    "add r12, #16\n"

/* Four depths of a row alone: r6 and r9 are weights, r8 and r10 the row. Nothing uses the result before it. */
#define MULTIPLY_ALONE \
    "ldr r9, [r12, #4]\n" \
    "ldr r6, [r12], #8\n" \
    "ldr r10, [lr, #4]\n" \
    "ldr r8, [lr], #8\n" \
    WIDEN_WEIGHTS("r7", "r6") WIDEN_WEIGHTS("r11", "r9") \
    IN_TURN(ADD_PRODUCT("r3", "r8", "r7"), ADD_PRODUCT("r0", "r8", "r6")) \
    IN_TURN(ADD_PRODUCT("r3", "r10", "r11"), ADD_PRODUCT("r0", "r10", "r9"))
/* clang-format on */

#endif
