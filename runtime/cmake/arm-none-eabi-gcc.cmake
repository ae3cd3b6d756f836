# Bare-metal Cortex-M with the GNU Arm toolchain and newlib.

find_program(ARM_NONE_EABI_GCC arm-none-eabi-gcc REQUIRED)
set(TARGET_COMPILER "${ARM_NONE_EABI_GCC}")
set(TARGET_DIALECT gcc)
set(TARGET_LINK_OPTIONS -nostartfiles --specs=nano.specs -Wl,--orphan-handling=warn
    -Xlinker "-Map=$<TARGET_FILE:$<TARGET_PROPERTY:NAME>>.map")  # -Wl would end at a comma
set(TARGET_LIBRARIES m)
include("${CMAKE_CURRENT_LIST_DIR}/target.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/cross.cmake")
