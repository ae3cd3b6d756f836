# Bare-metal Cortex-M with zig, which contains clang, lld and compiler-rt, but no C library for these targets:
# CMRT_LIBC adds the few functions that the runtime needs.

find_program(ZIG zig REQUIRED)
set(TARGET_COMPILER "${ZIG};cc")
set(TARGET_DIALECT zig)
include("${CMAKE_CURRENT_LIST_DIR}/target.cmake")
# Undoes options that zig passes to clang for programs with an operating system.
string(APPEND TARGET_FLAGS
    " -fno-stack-protector -fno-unwind-tables -fno-asynchronous-unwind-tables")
set(TARGET_LINK_OPTIONS -nostartfiles -Wl,-e,cm_reset)
set(TARGET_LIBRARIES "")
set(CMRT_LIBC ON)
foreach(language IN ITEMS C ASM)
    set(CMAKE_${language}_ARCHIVE_CREATE "\"${ZIG}\" ar qc <TARGET> <OBJECTS>")
    set(CMAKE_${language}_ARCHIVE_FINISH "\"${ZIG}\" ranlib <TARGET>")
endforeach()
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
