# The common part of toolchain files: passes TARGET_COMPILER and TARGET_FLAGS to CMake.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)

if(TARGET_DIALECT STREQUAL "gcc")
    set(compiler_id GNU)
    string(REGEX REPLACE "gcc([^/]*)$" "g++\\1" CMAKE_CXX_COMPILER "${TARGET_COMPILER}")
else()
    set(compiler_id Clang)
endif()
set(CMAKE_C_COMPILER ${TARGET_COMPILER})
set(CMAKE_ASM_COMPILER ${TARGET_COMPILER})

# CMake's trial builds take longer than the library itself, and a bare-metal program does not link
# without a board. Third-party projects probe the compiler: TARGET_PROBE allows it.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TARGET_PROBE TARGET_CXX_FLAGS ARM_NONE_EABI_GCC)
foreach(language IN ITEMS C CXX ASM)
    set(CMAKE_${language}_FLAGS_INIT "${TARGET_FLAGS}")
    if(NOT TARGET_PROBE)
        set(CMAKE_${language}_COMPILER_FORCED TRUE)
        set(CMAKE_${language}_COMPILER_ID ${compiler_id})
        set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
    endif()
endforeach()
string(APPEND CMAKE_CXX_FLAGS_INIT " ${TARGET_CXX_FLAGS}")
