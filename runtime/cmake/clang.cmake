# Bare-metal Cortex-M with LLVM's clang and lld. The C library is clang's own, as in the LLVM and Arm Toolchains
# for Embedded; otherwise newlib and libgcc of the GNU Arm toolchain.

find_program(CLANG clang REQUIRED)
set(TARGET_COMPILER "${CLANG}")

function(ask variable)
    execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    set(${variable} "${answer}" PARENT_SCOPE)
endfunction()

set(TARGET_DIALECT clang)
include("${CMAKE_CURRENT_LIST_DIR}/target.cmake")
set(clang_flags "${TARGET_FLAGS}")
separate_arguments(words UNIX_COMMAND "${clang_flags}")
ask(libc "${CLANG}" ${words} -print-file-name=libc.a)
if(IS_ABSOLUTE "${libc}")
    set(TARGET_LIBRARIES m)
else()
    find_program(ARM_NONE_EABI_GCC arm-none-eabi-gcc REQUIRED)
    set(TARGET_DIALECT gcc)
    include("${CMAKE_CURRENT_LIST_DIR}/target.cmake")
    separate_arguments(words UNIX_COMMAND "${TARGET_FLAGS}")
    ask(libc "${ARM_NONE_EABI_GCC}" ${words} -print-file-name=libc_nano.a)
    ask(libm "${ARM_NONE_EABI_GCC}" ${words} -print-file-name=libm.a)
    ask(libgcc "${ARM_NONE_EABI_GCC}" ${words} -print-libgcc-file-name)
    ask(header "${ARM_NONE_EABI_GCC}" ${words} -M -include math.h -x c /dev/null)
    string(REGEX MATCH "[^ \n\\]*math\\.h" header "${header}")
    cmake_path(GET header PARENT_PATH headers)
    set(clang_flags "${clang_flags} -isystem \"${headers}\"")
    set(TARGET_LIBRARIES "${libm}" "${libc}" "${libgcc}")
    set(TARGET_DIALECT clang)
endif()

set(TARGET_FLAGS "${clang_flags}")
set(TARGET_LINK_OPTIONS -fuse-ld=lld -nostdlib -Wl,--orphan-handling=warn
    -Xlinker "-Map=$<TARGET_FILE:$<TARGET_PROPERTY:NAME>>.map")  # -Wl would end at a comma
# lld does not need an archive's index, so any `ar` works.
find_program(CMAKE_AR NAMES llvm-ar llvm-ar-19 arm-none-eabi-ar ar REQUIRED)
find_program(CMAKE_RANLIB NAMES llvm-ranlib llvm-ranlib-19 arm-none-eabi-ranlib ranlib REQUIRED)
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
