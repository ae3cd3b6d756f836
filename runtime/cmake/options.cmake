# How every C file of the runtime is compiled.

include("${CMAKE_CURRENT_LIST_DIR}/sources.cmake")

set(CMRT_COMPILE_OPTIONS
    -std=c11 -Os -g ${CMRT_FLOAT_OPTIONS} -ffunction-sections -fdata-sections
    -Wall -Wextra -Wconversion "-ffile-prefix-map=${CMRT_ROOT}=runtime")
if(CMAKE_C_COMPILER_ID STREQUAL "Clang")
    list(APPEND CMRT_COMPILE_OPTIONS -fomit-frame-pointer) # gcc does by itself
endif()

# A host build exists to find bugs.
if(NOT CMAKE_CROSSCOMPILING)
    set(CMRT_SANITIZE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    set(CMRT_ISA scalar)
endif()

set(CMRT_KERNELS "" CACHE STRING "folders with kernels of a project's own")
foreach(folder IN LISTS CMRT_KERNELS)
    list(APPEND CMRT_COMPILE_OPTIONS "-ffile-prefix-map=${folder}=kernels")
endforeach()

function(cmrt_options target)
    target_compile_options(${target} PRIVATE
        "$<$<COMPILE_LANGUAGE:C>:${CMRT_COMPILE_OPTIONS};${CMRT_SANITIZE}>")
    target_include_directories(${target} PRIVATE "${CMRT_ROOT}/include")
    if(CMRT_LIBC)
        target_include_directories(${target} SYSTEM PRIVATE "${CMRT_ROOT}/libc/include")
    endif()
endfunction()
