# How every file that computes in float is compiled.

# Float arithmetic must round as the reference does: no contraction, and no vectorizer, because MVE
# flushes subnormal floats to zero. Without errno, a square root is one instruction.
set(CMRT_FLOAT_OPTIONS -ffp-contract=off -fno-math-errno -fno-tree-vectorize)
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
    list(APPEND CMRT_FLOAT_OPTIONS -fno-slp-vectorize)
endif()
